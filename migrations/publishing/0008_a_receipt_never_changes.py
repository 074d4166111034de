"""A receipt is made once: no row of the table is changed or taken away."""

from __future__ import annotations

from django.db import migrations

KEEP = """
CREATE FUNCTION a_receipt_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the receipt of edition % never changes', OLD.edition_id
        USING ERRCODE = 'integrity_constraint_violation',
              HINT = 'What became of an edition later stands in its books.';
END $$;
CREATE TRIGGER a_receipt_never_changes
    BEFORE UPDATE OR DELETE ON receipt FOR EACH ROW EXECUTE FUNCTION a_receipt_never_changes();
"""

LET_GO = """
DROP TRIGGER a_receipt_never_changes ON receipt;
DROP FUNCTION a_receipt_never_changes();
"""


class Migration(migrations.Migration):
    dependencies = [("publishing", "0007_the_issue_of_test_letters")]

    operations = [migrations.RunSQL(KEEP, LET_GO)]

"""An edition that was cancelled stays cancelled."""

from __future__ import annotations

from django.db import migrations

CANCELLED_STAYS_CANCELLED = """
CREATE FUNCTION a_cancelled_edition_stays_cancelled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'edition % was cancelled and cannot become %', OLD.id, NEW.control
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = 'a_cancelled_edition_stays_cancelled',
              HINT = 'Publish its text again as the next version.';
END $$;
CREATE TRIGGER a_cancelled_edition_stays_cancelled
    BEFORE UPDATE OF control ON edition FOR EACH ROW
    WHEN (OLD.control = 'cancelled' AND NEW.control <> 'cancelled')
    EXECUTE FUNCTION a_cancelled_edition_stays_cancelled();
"""

CANCELLED_MAY_CHANGE = """
DROP TRIGGER a_cancelled_edition_stays_cancelled ON edition;
DROP FUNCTION a_cancelled_edition_stays_cancelled();
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0003_life_of_an_edition")]

    operations = [migrations.RunSQL(CANCELLED_STAYS_CANCELLED, CANCELLED_MAY_CHANGE)]

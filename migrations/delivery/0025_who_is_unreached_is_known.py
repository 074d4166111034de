"""
Refuse a version for the unreached while an earlier one may go or is not kept.

Otherwise a reader whose earlier copy still waits would get both.
"""

from django.db import migrations

KNOWS = """
CREATE FUNCTION nothing_more_is_sent_of_earlier_versions() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    earlier integer;
BEGIN
    SELECT version INTO earlier FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version
       AND EXISTS (SELECT FROM batch
                   WHERE batch.edition_id = edition.id
                     AND (batch.waiting > 0
                          OR edition.control NOT IN ('cancelled', 'closed')
                             AND (batch.state <> 'done' OR batch.missed > 0)))
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'copies of version % may still be sent', earlier
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'nothing_more_is_sent_of_earlier_versions',
                  HINT = 'Cancel or close it first.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER nothing_more_is_sent_of_earlier_versions
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'unreached')
    EXECUTE FUNCTION nothing_more_is_sent_of_earlier_versions();
CREATE TRIGGER who_is_unreached_is_known
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'unreached')
    EXECUTE FUNCTION who_was_reached_is_known();
"""

ASKS_NOBODY = """
DROP TRIGGER who_is_unreached_is_known ON edition;
DROP TRIGGER nothing_more_is_sent_of_earlier_versions ON edition;
DROP FUNCTION nothing_more_is_sent_of_earlier_versions();
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0024_corrections_for_the_unreached_or_nobody")]

    operations = [migrations.RunSQL(KNOWS, ASKS_NOBODY)]

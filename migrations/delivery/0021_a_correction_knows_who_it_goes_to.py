"""
A version for those who were sent an earlier one is refused where it is not kept who they are.

The code of today says so itself, in a sentence. That of a release before knows nothing of dropped
copies, and would leave out in silence whoever's are gone.
"""

from django.db import migrations

# Nobody says that copies are dropped while this lock is shared: so whoever was found to be known
# stays known until the edition is there.
KNOWS = """
CREATE FUNCTION who_was_reached_is_known() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    dropped record;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(
        hashtextextended('homing: nobody is forgotten while copies are made', 0));
    SELECT version, copies_dropped_at INTO dropped FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version AND copies_dropped_at IS NOT NULL
       AND EXISTS (SELECT FROM batch WHERE edition_id = edition.id AND sent > 0)
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'who was sent version % is not kept any more: its copies were dropped at %',
                        dropped.version, dropped.copies_dropped_at
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'who_was_reached_is_known',
                  HINT = 'Publish it to everyone.';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER who_was_reached_is_known
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'reached')
    EXECUTE FUNCTION who_was_reached_is_known();
"""

ASKS_NOBODY = """
DROP TRIGGER who_was_reached_is_known ON edition;
DROP FUNCTION who_was_reached_is_known();
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0020_room_and_housekeeping")]

    operations = [migrations.RunSQL(KNOWS, ASKS_NOBODY)]

"""
Old code cannot start an edition for the unreached or nobody; after a restore, nobody guesses.

A worker of an older release takes every choice but `everyone` for `reached`, and would mail it to
those readers. The code of today sets `homing.knows_goes_to` in the transaction that starts one.
Whom an unreconciled version has reached is not known: since the backup more may have been sent.
"""

from django.db import migrations

STARTS = """
CREATE FUNCTION whom_it_goes_to_is_known() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'this code does not know how to publish to: %', NEW.goes_to
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = 'whom_it_goes_to_is_known',
              HINT = 'A worker of the newest release starts it.';
END $$;
CREATE TRIGGER whom_it_goes_to_is_known
    BEFORE UPDATE OF control ON edition FOR EACH ROW
    WHEN (OLD.control = 'scheduled' AND NEW.control NOT IN ('scheduled', 'cancelled')
          AND NEW.goes_to IN ('unreached', 'nobody')
          AND current_setting('homing.knows_goes_to', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION whom_it_goes_to_is_known();
"""

ANYBODY_STARTS = """
DROP TRIGGER whom_it_goes_to_is_known ON edition;
DROP FUNCTION whom_it_goes_to_is_known();
"""

# The triggers of 0021 and 0025 call this function: for `reached` and for `unreached`.
KNOWS = """
CREATE OR REPLACE FUNCTION who_was_reached_is_known() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    earlier record;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(
        hashtextextended('homing: nobody is forgotten while copies are made', 0));
    SELECT version INTO earlier FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version AND unreconciled_since IS NOT NULL
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'after the restore it is not known who was sent version %', earlier.version
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'who_was_reached_is_known',
                  HINT = 'Run ./homing reconcile first.';
    END IF;
    SELECT version, copies_dropped_at INTO earlier FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version AND copies_dropped_at IS NOT NULL
       AND EXISTS (SELECT FROM batch WHERE edition_id = edition.id AND sent > 0)
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'who was sent version % is not kept any more: its copies were dropped at %',
                        earlier.version, earlier.copies_dropped_at
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'who_was_reached_is_known',
                  HINT = 'Publish it to everyone.';
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("delivery", "0026_who_an_edition_goes_to_is_known")]

    operations = [
        migrations.RunSQL(STARTS, ANYBODY_STARTS),
        # 0021 drops it. Until then a stricter function does no harm to older code.
        migrations.RunSQL(KNOWS, migrations.RunSQL.noop),
    ]

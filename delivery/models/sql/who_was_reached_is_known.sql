-- Refuse an edition for the readers of earlier versions if those readers are not known.
--
-- While this transaction holds its shared lock, no other transaction can mark copies as dropped. So
-- readers who are known now stay known until the edition is stored.
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
    SELECT version, deliveries_dropped_at INTO earlier FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version AND deliveries_dropped_at IS NOT NULL
       AND EXISTS (SELECT FROM batch WHERE edition_id = edition.id AND sent > 0)
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'who was sent version % is not kept any more: its copies were dropped at %',
                        earlier.version, earlier.deliveries_dropped_at
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'who_was_reached_is_known',
                  HINT = 'Publish it to everyone.';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER who_was_reached_is_known
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'reached')
    EXECUTE FUNCTION who_was_reached_is_known();

CREATE OR REPLACE TRIGGER who_is_unreached_is_known
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'unreached')
    EXECUTE FUNCTION who_was_reached_is_known();

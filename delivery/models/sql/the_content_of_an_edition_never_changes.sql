-- Refuse changes of an edition, so that it always shows what readers got. Only the edition's state,
-- times and counts may change. A new column may not change unless this function names it.
CREATE OR REPLACE FUNCTION the_content_of_an_edition_never_changes()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    frozen edition := NEW;
BEGIN
    frozen.published_at := OLD.published_at;
    frozen.held_until := OLD.held_until;
    frozen.scheduled_for := OLD.scheduled_for;
    frozen.scheduled_local := OLD.scheduled_local;
    frozen.scheduled_zone := OLD.scheduled_zone;
    frozen.audience := OLD.audience;
    frozen.confirmed_readers := OLD.confirmed_readers;
    frozen.control := OLD.control;
    frozen.control_reason := OLD.control_reason;
    frozen.control_at := OLD.control_at;
    frozen.probing := OLD.probing;
    frozen.unreconciled_since := OLD.unreconciled_since;
    frozen.deliveries_dropped_at := OLD.deliveries_dropped_at;
    frozen.watched_left := OLD.watched_left;
    frozen.watched_bounced := OLD.watched_bounced;
    frozen.watched_complained := OLD.watched_complained;
    IF frozen IS DISTINCT FROM OLD THEN
        RAISE EXCEPTION 'the content of edition % never changes after publishing', OLD.id
            USING ERRCODE = 'integrity_constraint_violation',
                  HINT = 'Publish a correction as a new version.';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER the_content_of_an_edition_never_changes
    BEFORE UPDATE ON edition FOR EACH ROW
    EXECUTE FUNCTION the_content_of_an_edition_never_changes();

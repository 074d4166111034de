-- Refuse to delete a reader, except by erasure. An unconfirmed sign-up may be deleted. The undo of
-- an import may delete readers of this import who never opted in and were never changed.
CREATE OR REPLACE FUNCTION subscriber_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('homing.undoing', true) = OLD.subscriber_import_id::text
       AND OLD.opt_in_id IS NULL AND OLD.edited_at IS NULL THEN
        RETURN OLD;
    END IF;
    IF OLD.state <> 'pending'
       AND current_setting('homing.erasing', true) IS DISTINCT FROM OLD.id::text THEN
        PERFORM refuse_as('nobody_is_deleted_but_by_erasure');
    END IF;
    RETURN OLD;
END $$;

CREATE OR REPLACE TRIGGER subscriber_stays BEFORE DELETE ON subscriber
    FOR EACH ROW EXECUTE FUNCTION subscriber_stays();

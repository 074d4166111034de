-- Remove a batch from the sum of finished batches when it changes.
CREATE OR REPLACE FUNCTION a_changed_batch_is_not_rolled_up()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO batch_total (edition_id, size, sent, suppressed, withdrawn, failed,
                             bounced, complained)
    VALUES (OLD.edition_id, -OLD.size, -OLD.sent, -OLD.suppressed, -OLD.withdrawn, -OLD.failed,
            -OLD.bounced, -OLD.complained);
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    NEW.rolled_up := false;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER a_changed_batch_is_not_rolled_up
    BEFORE UPDATE OR DELETE ON batch FOR EACH ROW
    WHEN (OLD.rolled_up) EXECUTE FUNCTION a_changed_batch_is_not_rolled_up();

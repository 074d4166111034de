-- Count a reader in the new state. Also count a newly confirmed reader by month and source.
CREATE OR REPLACE FUNCTION count_changed_reader() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) VALUES (OLD.state, -1), (NEW.state, 1);
    -- A reader who is confirmed again because a bounce was lifted is not a new reader.
    IF NEW.state = 'confirmed' AND NOT (OLD.state = 'bounced'
        AND NEW.opt_in_id IS NOT DISTINCT FROM OLD.opt_in_id) THEN
        -- The reader's last record of signing up says which form the reader used.
        INSERT INTO new_readers (month, source, readers)
        VALUES (date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date,
                CASE (SELECT how FROM consent_record
                      WHERE subscriber_id = NEW.id AND act = 'asked' ORDER BY id DESC LIMIT 1)
                WHEN 'form' THEN 'form' WHEN 'embedded form' THEN 'embedded form'
                WHEN 'archive' THEN 'archive' WHEN 'api' THEN 'api' WHEN 'operator' THEN 'desk'
                ELSE NEW.source END,
                1);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER count_changed_reader AFTER UPDATE OF state ON subscriber FOR EACH ROW
    WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION count_changed_reader();

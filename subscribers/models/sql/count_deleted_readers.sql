-- Subtract deleted readers from the counts by state. Readers whom an import confirmed are also
-- subtracted from the counts of new readers.
CREATE OR REPLACE FUNCTION count_deleted_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) SELECT state, -count(*) FROM gone GROUP BY state;
    INSERT INTO new_readers (month, source, readers)
    SELECT date_trunc('month', created_at AT TIME ZONE 'UTC')::date, source, -count(*) FROM gone
    WHERE state = 'confirmed' AND source = 'import' AND opt_in_id IS NULL GROUP BY 1, 2;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER count_deleted_readers AFTER DELETE ON subscriber
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_deleted_readers();

-- Clear the counts when all readers are removed with TRUNCATE.
CREATE OR REPLACE FUNCTION count_no_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM reader_total;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER count_no_readers AFTER TRUNCATE ON subscriber
    FOR EACH STATEMENT EXECUTE FUNCTION count_no_readers();

-- Count new readers by state. Also count new confirmed readers by month and source.
CREATE OR REPLACE FUNCTION count_new_readers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reader_total (state, readers) SELECT state, count(*) FROM added GROUP BY state;
    INSERT INTO new_readers (month, source, readers)
    SELECT date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date, source, count(*)
    FROM added WHERE state = 'confirmed' GROUP BY source;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER count_new_readers AFTER INSERT ON subscriber
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_new_readers();

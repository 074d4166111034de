-- The numbers of batches on request. delivery/queue/batches/insert_and_split.py says what is left
-- above them for splits. A number is free again once all others were given.
CREATE SEQUENCE batch_on_request MINVALUE 0 MAXVALUE 983039 START 0 CYCLE;

-- The numbers of the batches of mail on request. Higher numbers are left for batches that are split
-- (delivery/queue/batches/insert_and_split.py). A number is used again after all other numbers were
-- used.
CREATE SEQUENCE batch_on_request MINVALUE 0 MAXVALUE 983039 START 0 CYCLE;

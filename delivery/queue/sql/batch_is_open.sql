-- Return whether a batch is not done, or has missed deliveries that wait for a decision.
--
-- PostgreSQL inlines this function into each query, so it finds these batches by the index
-- `batch_open`. The index has the same condition (`OPEN` in delivery/models/batch.py).
CREATE OR REPLACE FUNCTION batch_is_open_1(batch batch) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN batch.state = 'done' AND batch.missed = 0
                THEN 'over' ELSE 'not over' END = 'not over'
$$;

-- Write the accepted copies of a batch. Fails unless each of these copies had the outcome `p_old`.
--
-- Nested loops are off, because PostgreSQL would compare each copy of a batch with each outcome.
CREATE OR REPLACE FUNCTION write_sent_1(
    p_batch bigint, p_old text, p_evidence text, p_recipients bigint[], p_message_ids text[],
    p_times timestamptz[]
) RETURNS void LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET enable_nestloop = off
    SET enable_mergejoin = off
    SET jit = off
AS $$
DECLARE
    written integer;
BEGIN
    IF cardinality(p_recipients) = 0 THEN
        RETURN;
    END IF;
    UPDATE delivery SET outcome = 'sent', provider_message_id = accepted.message_id,
           sent_at = coalesce(accepted.at, clock_timestamp()), evidence = p_evidence,
           reason = NULL, missed = NULL
    FROM unnest(p_recipients, p_message_ids, p_times) AS accepted (recipient, message_id, at)
    WHERE batch_id = p_batch AND recipient_id = accepted.recipient AND outcome = p_old;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> cardinality(p_recipients) THEN
        RAISE EXCEPTION '% of % deliveries of batch % were %',
            written, cardinality(p_recipients), p_batch, p_old
            USING ERRCODE = 'assert_failure';
    END IF;
END $$;

-- Return the recipients in a batch whose evidence is not applied yet.
CREATE OR REPLACE FUNCTION unapplied_evidence_1(p_batch bigint) RETURNS SETOF bigint
LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET jit = off
AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT delivery.recipient_id FROM delivery, LATERAL (
            SELECT provider_message_id AS message_id FROM evidence
            WHERE evidence.issue_id = delivery.issue_id
              AND evidence.recipient_id = delivery.recipient_id
              AND evidence.version = delivery.version
            OFFSET 0
        ) AS seen
        WHERE batch_id = p_batch AND (outcome <> 'sent' OR provider_message_id <> message_id);
END $$;

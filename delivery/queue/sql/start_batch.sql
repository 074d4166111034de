-- Start the call of a claimed batch. All results are null if the claim is lost. `is_started` is
-- false if the caller must do something first. If `is_started` is false, this function has written
-- only the batch's state, or, with `p_alone`, nothing.
CREATE OR REPLACE FUNCTION start_batch_1(
    p_batch bigint, p_epoch integer, p_attempt uuid, p_worker uuid, p_deadline_s float8,
    p_lease_s float8, p_alone boolean,
    OUT is_started boolean, OUT of_control text, OUT is_probing boolean, OUT unmarked bigint[],
    OUT marked bigint[], OUT misplaced bigint[], OUT gone bigint[], OUT verdicts text[]
) LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET jit = off
AS $$
DECLARE
    of_edition bigint;
    of_issue uuid;
    of_version integer;
    of_kind text;
    of_tags integer[];
    has_evidence boolean;
BEGIN
    SELECT edition_id INTO of_edition FROM batch
    WHERE id = p_batch AND state = 'claimed' AND epoch = p_epoch
      AND lease_until > clock_timestamp()
    FOR NO KEY UPDATE;
    IF of_edition IS NULL THEN
        RETURN;
    END IF;
    -- Read the current values, because the edition may have been stopped and resumed since the
    -- claim.
    SELECT issue_id, version, kind, control, probing,
           CASE WHEN with_tags <> '[]'
                THEN ARRAY(SELECT (tag->>0)::integer
                           FROM jsonb_array_elements(with_tags) AS tag) END
    INTO of_issue, of_version, of_kind, of_control, is_probing, of_tags
    FROM edition WHERE id = of_edition;
    -- Most editions have no evidence, so their copies need not be checked for it.
    has_evidence := EXISTS (
        SELECT FROM evidence WHERE issue_id = of_issue AND version = of_version);
    -- An unknown copy in a claimed batch was put there manually. This copy counts as marked.
    SELECT array_agg(recipient_id) FILTER (WHERE NOT is_marked),
           array_agg(recipient_id) FILTER (WHERE is_marked),
           array_agg(recipient_id) FILTER (WHERE outcome = 'unknown')
    INTO unmarked, marked, misplaced
    FROM (SELECT recipient_id, outcome,
                 outcome = 'unknown' OR provider_message_id IS NOT NULL OR sent_at IS NOT NULL
                 OR (has_evidence AND EXISTS (
                        SELECT FROM evidence
                        WHERE issue_id = of_issue AND version = of_version
                          AND evidence.recipient_id = delivery.recipient_id
                        OFFSET 0)) AS is_marked
          FROM delivery WHERE batch_id = p_batch AND outcome IN ('waiting', 'unknown')
          ORDER BY recipient_id) AS copy;
    SELECT array_agg(recipient), array_agg(verdict) INTO gone, verdicts
    FROM readers_who_get_no_copy_1(unmarked, of_kind, of_tags);
    is_started := of_control = 'running' AND of_kind NOT IN ('test', 'invitation')
                  AND marked IS NULL AND gone IS NULL AND unmarked IS NOT NULL;
    IF p_alone AND NOT is_started THEN
        RETURN;
    END IF;
    UPDATE batch SET state = 'sending', attempt = p_attempt,
           lease_until = clock_timestamp() + make_interval(secs => p_deadline_s + p_lease_s)
    WHERE id = p_batch;
    IF is_started THEN
        PERFORM record_attempt_1(p_attempt, p_batch, of_edition, p_epoch, p_worker,
                                 cardinality(unmarked), p_deadline_s);
    END IF;
END $$;

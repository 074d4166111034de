-- Settle a batch and its accepted copies. Returns null if the guard fails; otherwise returns
-- whether the batch's edition is probing. With `p_alone` the function raises the error HM001 if
-- only a caller with the edition's lock may settle.
CREATE OR REPLACE FUNCTION settle_batch_1(
    p_batch bigint, p_epoch integer, p_was text, p_state text, p_evidence text,
    p_recipients bigint[], p_message_ids text[], p_times timestamptz[],
    p_sent integer DEFAULT 0, p_suppressed integer DEFAULT 0, p_withdrawn integer DEFAULT 0,
    p_failed integer DEFAULT 0, p_unknown integer DEFAULT 0, p_waiting integer DEFAULT 0,
    p_missed integer DEFAULT 0,
    p_accepted integer DEFAULT 0, p_attempt uuid DEFAULT NULL, p_result text DEFAULT NULL,
    p_reason text DEFAULT '', p_survived boolean DEFAULT false, p_alone boolean DEFAULT false,
    p_delay_s float8 DEFAULT 0, p_lookup_after_s float8 DEFAULT 0,
    p_looks_up boolean DEFAULT false, p_newly_unknown boolean DEFAULT false,
    p_confirmed_absent integer DEFAULT 0, p_tries integer DEFAULT 0,
    p_deferrals integer DEFAULT 0, p_blocked integer DEFAULT 0
) RETURNS boolean LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET jit = off
AS $$
DECLARE
    of_edition bigint;
    is_probing boolean;
    has_evidence boolean;
BEGIN
    -- Use one statement, because the state and the counts must always agree. A batch without open
    -- deliveries is done, even if the settlement names another step.
    UPDATE batch SET
        state = CASE WHEN waiting + p_waiting + unknown + p_unknown > 0
                     THEN p_state ELSE 'done' END,
        owner = NULL, lease_until = NULL,
        due_at = greatest(clock_timestamp() + make_interval(secs => p_delay_s),
                          CASE WHEN p_newly_unknown THEN clock_timestamp()
                               WHEN p_looks_up OR p_state = 'parked' THEN unknown_since END
                          + make_interval(secs => p_lookup_after_s)),
        unknown_since = CASE WHEN p_newly_unknown THEN clock_timestamp()
                             WHEN p_looks_up OR p_state = 'parked' THEN unknown_since END,
        attempt = CASE WHEN p_newly_unknown
                            OR (p_looks_up OR p_state = 'parked') AND unknown_since IS NOT NULL
                       THEN attempt END,
        lookups = CASE WHEN p_looks_up AND NOT p_newly_unknown
                       THEN lookups + p_confirmed_absent
                       ELSE 0 END,
        tries = tries + p_tries,
        deferrals = p_deferrals,
        blocked = p_blocked,
        crashes = CASE WHEN p_survived THEN 0 ELSE crashes END,
        reason = CASE WHEN waiting + p_waiting + unknown + p_unknown > 0
                      THEN p_reason ELSE '' END,
        sent = sent + p_sent, suppressed = suppressed + p_suppressed,
        withdrawn = withdrawn + p_withdrawn, failed = failed + p_failed,
        unknown = unknown + p_unknown, waiting = waiting + p_waiting,
        missed = missed + p_missed
    WHERE id = p_batch AND state = p_was AND epoch = p_epoch
    RETURNING edition_id INTO of_edition;
    IF of_edition IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM write_sent_1(p_batch, CASE p_was WHEN 'sending' THEN 'waiting' ELSE 'unknown' END,
                         p_evidence, p_recipients, p_message_ids, p_times);
    IF p_attempt IS NOT NULL THEN
        UPDATE attempt SET finished_at = clock_timestamp(), result = p_result, detail = p_reason,
               accepted = p_accepted
        WHERE id = p_attempt;
    END IF;
    -- Read this after the batch's row is locked, so that late changes are seen. Most editions have
    -- no evidence, so their copies need not be checked for it.
    SELECT probing, EXISTS (SELECT FROM evidence WHERE evidence.issue_id = edition.issue_id
                                                   AND evidence.version = edition.version OFFSET 0)
    INTO is_probing, has_evidence
    FROM edition WHERE id = of_edition;
    IF p_alone AND (is_probing OR has_evidence
                    AND EXISTS (SELECT FROM unapplied_evidence_1(p_batch))) THEN
        RAISE EXCEPTION 'batch % must be settled under the lock of its edition', p_batch
            USING ERRCODE = 'HM001';
    END IF;
    RETURN is_probing;
END $$;

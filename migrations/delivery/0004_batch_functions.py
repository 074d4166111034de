"""Functions that claim, start and settle a batch, each in one statement of the client.

PostgreSQL keeps their plans for a session, also behind a pooler
(docs/decisions/0038-functions-for-each-call.md). Each statement in them sees what was committed
before it, as in a transaction of separate statements. Rules that decide are in Python
(`delivery/rules`). These functions check guards and write.
"""

from django.db import migrations

# Every table is read by its key, so these plans are right for any number of rows. Without these
# settings, a plan that was made while a table was small would read the whole table later.
BY_KEY = """
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
"""
# In a nested loop, PostgreSQL would compare each copy of a batch with each outcome.
BY_HASH = """
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET enable_nestloop = off
    SET enable_mergejoin = off
"""

CLAIM = f"""
CREATE FUNCTION claim_batch(
    p_worker uuid, p_lease_s float8, p_unless_slowed boolean,
    OUT batch_id bigint, OUT new_epoch integer, OUT of_edition bigint, OUT of_issue uuid,
    OUT of_version integer, OUT of_kind text, OUT last_attempt uuid, OUT copies integer,
    OUT is_probing boolean, OUT counters integer[],
    OUT recipients bigint[], OUT addresses text[], OUT names text[],
    OUT fields_of_copies text[], OUT of_settings text
) LANGUAGE plpgsql {BY_KEY} AS $$
DECLARE
    of_fields text[];
    no_values text[];
BEGIN
    UPDATE batch SET state = 'claimed', epoch = epoch + 1, owner = p_worker,
           lease_until = clock_timestamp() + make_interval(secs => p_lease_s)
    WHERE id = (
        SELECT id FROM batch
        WHERE state = 'ready' AND due_at <= clock_timestamp()
          AND NOT (p_unless_slowed AND EXISTS (SELECT FROM send_rate WHERE slowed_at IS NOT NULL))
          -- A value that the server does not report is empty and is not compared.
          AND NOT EXISTS (
              SELECT FROM database_identity AS stored, this_database() AS this
              WHERE stored.database <> this.database
                 OR (stored.system_identifier <> this.system_identifier
                     AND stored.system_identifier <> '' AND this.system_identifier <> '')
                 OR (stored.timeline <> this.timeline
                     AND stored.timeline <> '' AND this.timeline <> ''))
        ORDER BY position, id LIMIT 1
        FOR UPDATE SKIP LOCKED)
    RETURNING id, epoch, edition_id, attempt, waiting,
              ARRAY[tries, deferrals, blocked, crashes, lookups]
    INTO batch_id, new_epoch, of_edition, last_attempt, copies, counters;
    IF batch_id IS NULL THEN
        RETURN;
    END IF;
    SELECT issue_id, version, kind, probing, nullif(merge_fields, '{{}}')
    INTO of_issue, of_version, of_kind, is_probing, of_fields
    FROM edition WHERE id = of_edition;
    -- Changes with every change of the newsletter's settings.
    of_settings := (SELECT xmin || ' ' || ctid FROM newsletter);
    IF of_fields IS NOT NULL THEN
        -- For the copies of erased readers, because all rows of a PostgreSQL array are equally long.
        no_values := array_fill(''::text, ARRAY[cardinality(of_fields)]);
    END IF;
    SELECT array_agg(recipient_id), array_agg(address), array_agg(name),
           array_agg(coalesce(fields, no_values)) FILTER (WHERE no_values IS NOT NULL)
    INTO recipients, addresses, names, fields_of_copies
    FROM (SELECT recipient_id, address, name, fields FROM delivery
          WHERE delivery.batch_id = claim_batch.batch_id AND outcome = 'waiting'
          ORDER BY recipient_id) AS copy;
END $$;
"""  # noqa: S608 -- constants

START = f"""
-- Start the call of a claimed batch. All results are null if the claim is lost. `is_started` is
-- false if the caller must do something first: then nothing is written if `p_alone`, and otherwise
-- only the batch's state.
CREATE FUNCTION start_batch(
    p_batch bigint, p_epoch integer, p_attempt uuid, p_worker uuid, p_deadline_s float8,
    p_lease_s float8, p_alone boolean,
    OUT is_started boolean, OUT of_control text, OUT is_probing boolean, OUT unmarked bigint[],
    OUT marked bigint[], OUT misplaced bigint[], OUT gone bigint[], OUT verdicts text[]
) LANGUAGE plpgsql {BY_KEY} AS $$
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
    -- The current values: the edition may have been stopped and resumed since the claim.
    SELECT issue_id, version, kind, control, probing,
           CASE WHEN with_tags <> '[]'
                THEN ARRAY(SELECT (tag->>0)::integer FROM jsonb_array_elements(with_tags) AS tag) END
    INTO of_issue, of_version, of_kind, of_control, is_probing, of_tags
    FROM edition WHERE id = of_edition;
    -- Most editions have no evidence, and then no copy needs a look.
    has_evidence := EXISTS (
        SELECT FROM evidence WHERE issue_id = of_issue AND version = of_version);
    -- An unknown copy in such a batch was put there manually. It counts as marked.
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
    FROM readers_not_to_mail(unmarked, of_kind, of_tags);
    is_started := of_control = 'running' AND of_kind <> 'test'
                  AND marked IS NULL AND gone IS NULL AND unmarked IS NOT NULL;
    IF p_alone AND NOT is_started THEN
        RETURN;
    END IF;
    UPDATE batch SET state = 'sending', attempt = p_attempt,
           lease_until = clock_timestamp() + make_interval(secs => p_deadline_s + p_lease_s)
    WHERE id = p_batch;
    IF is_started THEN
        PERFORM record_attempt(p_attempt, p_batch, of_edition, p_epoch, p_worker,
                               cardinality(unmarked), p_deadline_s);
    END IF;
END $$;

CREATE FUNCTION record_attempt(
    p_attempt uuid, p_batch bigint, p_edition bigint, p_epoch integer, p_worker uuid,
    p_messages integer, p_deadline_s float8
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages, started_at,
                         deadline_at, detail, accepted)
    VALUES (p_attempt, p_batch, p_edition, (SELECT stream FROM edition WHERE id = p_edition),
            p_epoch, p_worker, p_messages, clock_timestamp(),
            clock_timestamp() + make_interval(secs => p_deadline_s), '', 0);
END $$;
"""  # noqa: S608 -- constants

COUNTS = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting", "missed")
SINCE = """CASE WHEN p_newly_unknown THEN clock_timestamp()
                WHEN p_looks_up OR p_state = 'parked' THEN unknown_since END"""
IS_OPEN = "waiting + p_waiting + unknown + p_unknown > 0"

SETTLE = f"""
-- Settle a batch and its accepted copies. Returns null if the guard fails, and otherwise whether
-- its edition is probing. With `p_alone` it fails with the code HM001 if only a caller with the
-- edition's lock may settle.
CREATE FUNCTION settle_batch(
    p_batch bigint, p_epoch integer, p_was text, p_state text, p_evidence text,
    p_recipients bigint[], p_message_ids text[], p_times timestamptz[],
    {", ".join(f"p_{name} integer DEFAULT 0" for name in COUNTS)},
    p_accepted integer DEFAULT 0, p_attempt uuid DEFAULT NULL, p_result text DEFAULT NULL,
    p_reason text DEFAULT '', p_survived boolean DEFAULT false, p_alone boolean DEFAULT false,
    p_delay_s float8 DEFAULT 0, p_lookup_after_s float8 DEFAULT 0,
    p_looks_up boolean DEFAULT false, p_newly_unknown boolean DEFAULT false,
    p_confirmed_absent integer DEFAULT 0, p_tries integer DEFAULT 0,
    p_deferrals integer DEFAULT 0, p_blocked integer DEFAULT 0
) RETURNS boolean LANGUAGE plpgsql {BY_KEY} AS $$
DECLARE
    of_edition bigint;
    is_probing boolean;
    has_evidence boolean;
BEGIN
    -- One statement, because state and counts must always agree. A batch without open deliveries
    -- is done, even if the settlement names another step.
    UPDATE batch SET
        state = CASE WHEN {IS_OPEN} THEN p_state ELSE 'done' END,
        owner = NULL, lease_until = NULL,
        due_at = greatest(clock_timestamp() + make_interval(secs => p_delay_s),
                          {SINCE} + make_interval(secs => p_lookup_after_s)),
        unknown_since = {SINCE},
        attempt = CASE WHEN p_newly_unknown OR {SINCE} IS NOT NULL THEN attempt END,
        lookups = CASE WHEN p_looks_up AND NOT p_newly_unknown
                       THEN lookups + p_confirmed_absent
                       ELSE 0 END,
        tries = tries + p_tries,
        deferrals = p_deferrals,
        blocked = p_blocked,
        crashes = CASE WHEN p_survived THEN 0 ELSE crashes END,
        reason = CASE WHEN {IS_OPEN} THEN p_reason ELSE '' END,
        {", ".join(f"{name} = {name} + p_{name}" for name in COUNTS)}
    WHERE id = p_batch AND state = p_was AND epoch = p_epoch
    RETURNING edition_id INTO of_edition;
    IF of_edition IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM write_sent(p_batch, CASE p_was WHEN 'sending' THEN 'waiting' ELSE 'unknown' END,
                       p_evidence, p_recipients, p_message_ids, p_times);
    IF p_attempt IS NOT NULL THEN
        UPDATE attempt SET finished_at = clock_timestamp(), result = p_result, detail = p_reason,
               accepted = p_accepted
        WHERE id = p_attempt;
    END IF;
    -- Read after the batch's row is locked, so that late changes are seen. Most editions have no
    -- evidence, and then no copy needs a look.
    SELECT probing, EXISTS (SELECT FROM evidence WHERE evidence.issue_id = edition.issue_id
                                                   AND evidence.version = edition.version OFFSET 0)
    INTO is_probing, has_evidence
    FROM edition WHERE id = of_edition;
    IF p_alone AND (is_probing OR has_evidence
                    AND EXISTS (SELECT FROM unapplied_evidence(p_batch))) THEN
        RAISE EXCEPTION 'batch % must be settled under the lock of its edition', p_batch
            USING ERRCODE = 'HM001';
    END IF;
    RETURN is_probing;
END $$;

CREATE FUNCTION write_sent(
    p_batch bigint, p_old text, p_evidence text, p_recipients bigint[], p_message_ids text[],
    p_times timestamptz[]
) RETURNS void LANGUAGE plpgsql {BY_HASH} AS $$
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

-- The recipients in a batch with evidence that is not applied yet.
CREATE FUNCTION unapplied_evidence(p_batch bigint) RETURNS SETOF bigint
LANGUAGE plpgsql {BY_KEY} AS $$
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
"""  # noqa: S608 -- constants

FUNCTIONS = (
    "claim_batch",
    "start_batch",
    "record_attempt",
    "settle_batch",
    "write_sent",
    "unapplied_evidence",
)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0003_labels")]

    operations = [
        migrations.RunSQL(
            CLAIM + START + SETTLE, "".join(f"DROP FUNCTION {name};" for name in FUNCTIONS)
        )
    ]

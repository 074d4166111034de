-- Claim the next due batch and read its copies. All results are null if no batch is due.
--
-- The settings of this function make PostgreSQL read every table by an index, which is fast for any
-- number of rows. Without the settings, a plan made while a table was small would later read the
-- whole table. If PostgreSQL before 18 still scans a table of one row, it adds 10,000,000,000 to
-- the cost. PostgreSQL would then compile the statement, which takes 100 ms, so `jit` is off too.
CREATE OR REPLACE FUNCTION claim_batch_1(
    p_worker uuid, p_lease_s float8, p_unless_slowed boolean,
    OUT batch_id bigint, OUT new_epoch integer, OUT of_edition bigint, OUT of_issue uuid,
    OUT of_version integer, OUT of_kind text, OUT last_attempt uuid, OUT copies integer,
    OUT is_probing boolean, OUT counters integer[],
    OUT recipients bigint[], OUT addresses text[], OUT names text[],
    OUT fields_of_copies text[], OUT of_settings text
) LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET jit = off
AS $$
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
              SELECT FROM database_identity AS stored, this_database_1() AS this
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
    SELECT issue_id, version, kind, probing, nullif(merge_fields, '{}')
    INTO of_issue, of_version, of_kind, is_probing, of_fields
    FROM edition WHERE id = of_edition;
    -- This value changes with every change of the newsletter's settings.
    of_settings := (SELECT xmin || ' ' || ctid FROM newsletter);
    IF of_fields IS NOT NULL THEN
        -- The copies of erased readers get empty values, because all rows of an array must be
        -- equally long.
        no_values := array_fill(''::text, ARRAY[cardinality(of_fields)]);
    END IF;
    SELECT array_agg(recipient_id), array_agg(address), array_agg(name),
           array_agg(coalesce(fields, no_values)) FILTER (WHERE no_values IS NOT NULL)
    INTO recipients, addresses, names, fields_of_copies
    FROM (SELECT recipient_id, address, name, fields FROM delivery
          WHERE delivery.batch_id = claim_batch_1.batch_id AND outcome = 'waiting'
          ORDER BY recipient_id) AS copy;
END $$;

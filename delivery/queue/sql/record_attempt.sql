-- Record the start of a call, before its first byte.
CREATE OR REPLACE FUNCTION record_attempt_1(
    p_attempt uuid, p_batch bigint, p_edition bigint, p_epoch integer, p_worker uuid,
    p_messages integer, p_deadline_s float8
) RETURNS void LANGUAGE plpgsql
    SET jit = off
AS $$
BEGIN
    INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages, started_at,
                         deadline_at, detail, accepted)
    VALUES (p_attempt, p_batch, p_edition, (SELECT stream FROM edition WHERE id = p_edition),
            p_epoch, p_worker, p_messages, clock_timestamp(),
            clock_timestamp() + make_interval(secs => p_deadline_s), '', 0);
END $$;

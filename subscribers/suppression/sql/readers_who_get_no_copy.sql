-- Decide which of these readers get no copy, and why. `start_batch` runs this function when a call
-- to the provider starts.
--
-- `p_tags` are the tags of the issue's audience, or null for everyone. A reader who left a topic
-- among these tags, and has none of these tags now, gets no copy. If an author removed a tag from a
-- reader, the reader still gets a copy.
--
-- Readers who unsubscribed, bounced or complained still get transactional mail, because a mail with
-- a confirmation link lets them return. Transactional mail is stopped only by an operator's block,
-- or by a suppression from an import if the reader never signed up here. `OFFSET 0` makes
-- PostgreSQL look up each address by its key.
CREATE OR REPLACE FUNCTION readers_who_get_no_copy_1(
    p_recipients bigint[], p_kind text, p_tags integer[] DEFAULT NULL,
    OUT recipient bigint, OUT verdict text
) RETURNS SETOF record LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET enable_hashjoin = off
    SET enable_mergejoin = off
    SET jit = off
AS $$
BEGIN
    IF p_kind IN ('newsletter', 'welcome') THEN
        RETURN QUERY
            SELECT one, CASE WHEN subscriber.id IS NULL OR subscriber.state = 'unsubscribed'
                             THEN 'withdrawn'
                             WHEN subscriber.state IN ('bounced', 'complained')
                                  OR EXISTS (SELECT FROM suppression
                                             WHERE address_key = subscriber.email_key
                                               AND lifted_at IS NULL
                                             OFFSET 0)
                             THEN 'suppressed' ELSE 'left_topic' END
            FROM unnest(p_recipients) AS one LEFT JOIN subscriber ON subscriber.id = one
            WHERE subscriber.id IS NULL
               OR subscriber.state IN ('unsubscribed', 'bounced', 'complained')
               OR EXISTS (SELECT FROM suppression
                          WHERE address_key = subscriber.email_key AND lifted_at IS NULL
                          OFFSET 0)
               OR (p_tags IS NOT NULL AND subscriber.left_topics && p_tags
                   AND NOT subscriber.tags && p_tags);
    ELSIF p_kind NOT IN ('test', 'invitation') THEN
        RETURN QUERY
            SELECT one, CASE WHEN subscriber.id IS NULL THEN 'withdrawn' ELSE 'suppressed' END
            FROM unnest(p_recipients) AS one LEFT JOIN subscriber ON subscriber.id = one
            WHERE subscriber.id IS NULL
               OR EXISTS (SELECT FROM suppression
                          WHERE address_key = subscriber.email_key AND lifted_at IS NULL
                            AND (origin = 'operator'
                                 OR origin = 'import' AND NOT EXISTS (
                                    SELECT FROM consent_record
                                     WHERE subscriber_id = subscriber.id
                                       AND (act = 'record asked' OR act = 'asked'
                                            AND how IN ('form', 'embedded form', 'archive'))))
                          OFFSET 0);
    END IF;
END $$;

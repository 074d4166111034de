-- Add tags, except the topics that the reader left.
CREATE OR REPLACE FUNCTION tags_with_1(tags integer[], left_topics integer[], added integer[])
RETURNS integer[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT tag ORDER BY tag), '{}')
    FROM unnest(tags || added) AS tag WHERE tag <> ALL (left_topics)
$$;

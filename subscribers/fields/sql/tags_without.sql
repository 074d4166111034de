-- Remove tags.
CREATE OR REPLACE FUNCTION tags_without_1(tags integer[], removed integer[]) RETURNS integer[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(tag ORDER BY tag), '{}')
    FROM unnest(tags) AS tag WHERE tag <> ALL (removed)
$$;

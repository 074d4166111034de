-- Return a number that says how serious a suppression is. If an address gets two suppressions, the
-- more serious one stays, in whatever order they arrive.
CREATE OR REPLACE FUNCTION gravity_of_suppression_1(reason text, origin text) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT array_position(ARRAY['bounce', 'manual', 'unsubscribe', 'complaint'], reason)
           + CASE origin WHEN 'operator' THEN 10 ELSE 0 END
$$;

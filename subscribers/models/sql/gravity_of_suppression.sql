-- Return the gravity of a suppression. If an address has two, the graver stays, in whatever order
-- they arrive.
CREATE OR REPLACE FUNCTION gravity_of_suppression_1(reason text, origin text) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT array_position(ARRAY['bounce', 'manual', 'unsubscribe', 'complaint'], reason)
           + CASE origin WHEN 'operator' THEN 10 ELSE 0 END
$$;

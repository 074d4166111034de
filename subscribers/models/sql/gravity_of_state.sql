-- Return a number that says how serious a reader's state is. A more serious state replaces a less
-- serious one, in whatever order the events arrive.
CREATE OR REPLACE FUNCTION gravity_of_state_1(state text) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT array_position(
        ARRAY['pending', 'confirmed', 'bounced', 'unsubscribed', 'complained'], state)
$$;

-- Return the gravity of a reader's state. The graver of two states stays, in whatever order the
-- events arrive.
CREATE OR REPLACE FUNCTION gravity_of_state_1(state text) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT array_position(
        ARRAY['pending', 'confirmed', 'bounced', 'unsubscribed', 'complained'], state)
$$;

-- Order the states of a reader: of two events the graver decides, in whatever order they come.
CREATE OR REPLACE FUNCTION gravity_of_state_1(state text) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
    SELECT array_position(
        ARRAY['pending', 'confirmed', 'bounced', 'unsubscribed', 'complained'], state)
$$;

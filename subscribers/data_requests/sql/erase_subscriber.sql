-- Delete a reader, and keep only the keyed hash of the address. Return false if no reader has this
-- id.
CREATE OR REPLACE FUNCTION erase_subscriber_1(whom bigint, hashed bytea) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    key text;
BEGIN
    SELECT email_key INTO key FROM subscriber WHERE id = whom FOR UPDATE;
    IF key IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO erasure (address_hash) VALUES (hashed) ON CONFLICT DO NOTHING;
    PERFORM set_config('homing.erasing', whom::text, true);
    DELETE FROM suppression WHERE address_key = key;
    DELETE FROM bounce WHERE subscriber_id = whom;
    DELETE FROM subscriber WHERE id = whom;
    DELETE FROM consent_record WHERE subscriber_id = whom;
    PERFORM set_config('homing.erasing', '', true);
    RETURN true;
END $$;

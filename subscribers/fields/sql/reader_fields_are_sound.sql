-- Check that all values are texts that fields may have. JSON contains control characters only as
-- escapes, so compare the decoded texts.
CREATE OR REPLACE FUNCTION reader_fields_are_sound(fields jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_typeof(fields) = 'object' AND NOT EXISTS (
        SELECT FROM jsonb_each(fields) AS field
        WHERE jsonb_typeof(value) <> 'string' OR value #>> '{}' = ''
           OR length(value #>> '{}') > 256
           OR value #>> '{}' ~ '[\u0001-\u001F\u007F-\u009F\u2028\u2029]')
$$;

ALTER TABLE subscriber ADD CONSTRAINT the_fields_of_a_subscriber_are_sound
    CHECK (fields = '{}' OR reader_fields_are_sound(fields));

ALTER TABLE consent_record ADD CONSTRAINT the_fields_of_a_record_are_sound
    CHECK (fields = '{}' OR reader_fields_are_sound(fields));

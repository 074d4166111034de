-- Refuse to change a record of consent, or to delete it while its reader exists.
CREATE OR REPLACE FUNCTION consent_is_appended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.act IN ('asked', 'confirmed', 'record asked') THEN
            -- These acts happen now, so the database sets their time.
            NEW.at := clock_timestamp();
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' OR EXISTS (SELECT FROM subscriber WHERE id = OLD.subscriber_id) THEN
        PERFORM refuse_as('a_consent_record_stays_as_it_is');
    END IF;
    RETURN OLD;
END $$;

CREATE OR REPLACE TRIGGER consent_is_appended BEFORE INSERT OR UPDATE OR DELETE ON consent_record
    FOR EACH ROW EXECUTE FUNCTION consent_is_appended();

-- Refuse every change of a row. The error names the rule that the trigger passes as an argument.
CREATE OR REPLACE FUNCTION stays_as_it_is() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refuse_as(TG_ARGV[0]);
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER wording_stays BEFORE UPDATE OR DELETE ON consent_wording
    FOR EACH ROW EXECUTE FUNCTION stays_as_it_is('a_wording_stays_as_it_is');

CREATE OR REPLACE TRIGGER erasure_stays BEFORE UPDATE OR DELETE ON erasure
    FOR EACH ROW EXECUTE FUNCTION stays_as_it_is('an_erasure_stays');

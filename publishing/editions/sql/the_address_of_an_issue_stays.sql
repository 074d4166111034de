CREATE OR REPLACE FUNCTION the_address_of_an_issue_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF the_address_is_fixed_1(OLD.id) THEN
        RAISE EXCEPTION 'issue % stays at its address %: mails lead to it', OLD.id, OLD.slug
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'the_address_of_an_issue_stays';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER the_address_of_an_issue_stays
    BEFORE UPDATE OF slug ON issue FOR EACH ROW
    WHEN (OLD.slug IS DISTINCT FROM NEW.slug)
    EXECUTE FUNCTION the_address_of_an_issue_stays();

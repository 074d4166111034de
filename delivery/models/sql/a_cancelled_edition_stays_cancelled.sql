CREATE OR REPLACE FUNCTION a_cancelled_edition_stays_cancelled()
RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'edition % was cancelled and cannot become %', OLD.id, NEW.control
        USING ERRCODE = 'integrity_constraint_violation',
              CONSTRAINT = 'a_cancelled_edition_stays_cancelled',
              HINT = 'Publish its text again as the next version.';
END $$;

CREATE OR REPLACE TRIGGER a_cancelled_edition_stays_cancelled
    BEFORE UPDATE OF control ON edition FOR EACH ROW
    WHEN (OLD.control = 'cancelled' AND NEW.control <> 'cancelled')
    EXECUTE FUNCTION a_cancelled_edition_stays_cancelled();

-- While copies of an earlier version may still be sent, refuse an edition for the readers whom no
-- earlier version has reached. A reader whose earlier copy still waits would get both copies.
CREATE OR REPLACE FUNCTION nothing_more_is_sent_of_earlier_versions()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    earlier integer;
BEGIN
    SELECT version INTO earlier FROM edition
     WHERE issue_id = NEW.issue_id AND version < NEW.version
       AND EXISTS (SELECT FROM batch
                   WHERE batch.edition_id = edition.id
                     AND (batch.waiting > 0
                          OR edition.control NOT IN ('cancelled', 'closed')
                             AND (batch.state <> 'done' OR batch.missed > 0)))
     ORDER BY version LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'copies of version % may still be sent', earlier
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'nothing_more_is_sent_of_earlier_versions',
                  HINT = 'Cancel or close it first.';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER nothing_more_is_sent_of_earlier_versions
    BEFORE INSERT ON edition FOR EACH ROW
    WHEN (NEW.goes_to = 'unreached')
    EXECUTE FUNCTION nothing_more_is_sent_of_earlier_versions();

CREATE OR REPLACE FUNCTION a_receipt_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the receipt of edition % never changes', OLD.edition_id
        USING ERRCODE = 'integrity_constraint_violation',
              HINT = 'What became of an edition later stands in its counts.';
END $$;

CREATE OR REPLACE TRIGGER a_receipt_never_changes
    BEFORE UPDATE OR DELETE ON receipt FOR EACH ROW EXECUTE FUNCTION a_receipt_never_changes();

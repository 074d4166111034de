-- Require that an edition with a draft's key is linked to this draft. Without the link the draft
-- stays open, and a colleague can publish the same letter again.
CREATE OR REPLACE FUNCTION the_key_of_a_draft_makes_one_edition()
RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    used text;
BEGIN
    IF TG_TABLE_NAME = 'draft' THEN
        used := NEW.key;
    ELSE
        used := NEW.idempotency_key;
    END IF;
    IF EXISTS (
        SELECT FROM draft
          JOIN edition ON edition.author_id = draft.created_by_id
                      AND edition.idempotency_key = draft.key
         WHERE draft.key = used AND draft.edition_id IS DISTINCT FROM edition.id
    ) THEN
        RAISE EXCEPTION 'the key % of a draft makes one edition, linked to the draft', used
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'the_key_of_a_draft_makes_one_edition';
    END IF;
    RETURN NULL;
END $$;

DROP TRIGGER IF EXISTS the_key_of_a_draft_makes_one_edition ON draft;
CREATE CONSTRAINT TRIGGER the_key_of_a_draft_makes_one_edition
    AFTER INSERT ON draft DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION the_key_of_a_draft_makes_one_edition();

DROP TRIGGER IF EXISTS the_key_of_a_draft_makes_one_edition ON edition;
CREATE CONSTRAINT TRIGGER the_key_of_a_draft_makes_one_edition
    AFTER INSERT ON edition DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.idempotency_key IS NOT NULL)
    EXECUTE FUNCTION the_key_of_a_draft_makes_one_edition();

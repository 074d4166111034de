"""
An edition that an author publishes under the key of their draft is the edition of that draft.

Otherwise the draft stays open, and a colleague can publish the same letter again.
"""

from django.db import migrations

LINKED = """
CREATE FUNCTION the_key_of_a_draft_makes_one_edition() RETURNS trigger LANGUAGE plpgsql AS $$
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
          JOIN edition ON edition.author_id = draft.begun_by_id
                      AND edition.idempotency_key = draft.key
         WHERE draft.key = used AND draft.edition_id IS DISTINCT FROM edition.id
    ) THEN
        RAISE EXCEPTION 'the key % of a draft makes one edition, linked to the draft', used
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'the_key_of_a_draft_makes_one_edition';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER the_key_of_a_draft_makes_one_edition
    AFTER INSERT ON draft DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION the_key_of_a_draft_makes_one_edition();
CREATE CONSTRAINT TRIGGER the_key_of_a_draft_makes_one_edition
    AFTER INSERT ON edition DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.idempotency_key IS NOT NULL)
    EXECUTE FUNCTION the_key_of_a_draft_makes_one_edition();
"""

FREE = """
DROP TRIGGER the_key_of_a_draft_makes_one_edition ON edition;
DROP TRIGGER the_key_of_a_draft_makes_one_edition ON draft;
DROP FUNCTION the_key_of_a_draft_makes_one_edition();
"""


class Migration(migrations.Migration):
    dependencies = [("publishing", "0013_uploads_of_pictures_are_counted")]

    operations = [migrations.RunSQL(LINKED, FREE)]

"""
Fix an issue's address once a copy may have left, because mails link to it.

It is free while every edition of the issue was called back, or cancelled before its first call.
"""

from django.db import migrations

FIX = """
CREATE FUNCTION the_address_is_fixed(issue uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM edition
        WHERE edition.issue_id = issue
          AND (edition.control <> 'cancelled'
               OR EXISTS (SELECT FROM batch WHERE batch.edition_id = edition.id
                             AND batch.sent + batch.unknown + batch.waiting > 0)
               OR EXISTS (SELECT FROM attempt WHERE attempt.edition_id = edition.id)))
$$;
CREATE FUNCTION the_address_of_an_issue_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF the_address_is_fixed(OLD.id) THEN
        RAISE EXCEPTION 'issue % stays at its address %: mails lead to it', OLD.id, OLD.slug
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'the_address_of_an_issue_stays';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER the_address_of_an_issue_stays
    BEFORE UPDATE OF slug ON issue FOR EACH ROW
    WHEN (OLD.slug IS DISTINCT FROM NEW.slug)
    EXECUTE FUNCTION the_address_of_an_issue_stays();
"""

FREE = """
DROP TRIGGER the_address_of_an_issue_stays ON issue;
DROP FUNCTION the_address_of_an_issue_stays();
DROP FUNCTION the_address_is_fixed(uuid);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("publishing", "0009_since_when_a_picture_is_unused"),
        ("delivery", "0023_what_is_in_hand_is_found_by_its_key"),
    ]

    operations = [migrations.RunSQL(FIX, FREE)]

-- Return whether mails may link to an issue's address. The address can change as long as every
-- edition of the issue was called back, or cancelled before its first call.
CREATE OR REPLACE FUNCTION the_address_is_fixed_1(issue uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM edition
        WHERE edition.issue_id = issue
          AND (edition.control <> 'cancelled'
               OR EXISTS (SELECT FROM batch WHERE batch.edition_id = edition.id
                             AND batch.sent + batch.unknown + batch.waiting > 0)
               OR EXISTS (SELECT FROM attempt WHERE attempt.edition_id = edition.id)))
$$;

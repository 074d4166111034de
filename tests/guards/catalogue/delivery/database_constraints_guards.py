"""Guards of constraints and triggers in the database."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Batches ---
a rolled-up batch that changes leaves the totals
    sql: DROP TRIGGER a_changed_batch_is_not_rolled_up ON batch
    test_late_bounces_change_the_rolled_up_counts
a batch without its final outcomes is not rolled up
    _ROLL_UP: WHERE NOT rolled_up «AND state = 'done' AND missed = 0 AND
        unknown_since IS NULL»
    test_rolled_up_batches_keep_the_counts

# --- Editions ---
the database itself holds: one edition per issue and version
    sql: ALTER TABLE edition DROP CONSTRAINT one_edition_per_issue_and_version
    test_concurrent_publication_waits_and_returns_the_first_edition
the database itself holds: an author publishes once per key
    sql: ALTER TABLE edition DROP CONSTRAINT an_author_publishes_once_per_key
    test_the_database_lets_an_author_publish_once_per_key
the database itself holds: versions count from one
    sql: ALTER TABLE edition DROP CONSTRAINT versions_count_from_one
    test_the_database_refuses_versions_below_one
the database itself holds: the content of an edition never changes
    sql: DROP TRIGGER the_content_of_an_edition_never_changes ON edition
    test_the_content_of_an_edition_never_changes
the database itself holds: a cancelled edition stays cancelled
    sql: DROP TRIGGER a_cancelled_edition_stays_cancelled ON edition
    test_a_cancelled_edition_stays_cancelled

# --- Posted forms ---
the database itself holds: an answer is saved whole or not at all
    sql: ALTER TABLE idempotency DROP CONSTRAINT an_answer_is_saved_whole_or_not_at_all
    test_a_partial_response_is_refused
the database itself holds: only an answer to committed work is saved
    sql: ALTER TABLE idempotency DROP CONSTRAINT only_an_answer_to_committed_work_is_saved
    test_only_successful_responses_are_accepted
the database itself holds: a key is 1 to 49 printable ascii characters
    sql: ALTER TABLE idempotency DROP CONSTRAINT a_key_is_1_to_49_printable_ascii_characters
    test_the_table_refuses_the_keys_that_the_app_refuses

# --- Readers ---
the database itself holds: one subscriber per address
    sql: ALTER TABLE subscriber DROP CONSTRAINT one_subscriber_per_address
    test_address_is_unique_in_any_letter_case
the database itself holds: one suppression per address
    sql: ALTER TABLE suppression DROP CONSTRAINT one_suppression_per_address
    test_an_address_is_suppressed_once
""")

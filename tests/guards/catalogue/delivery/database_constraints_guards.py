"""Guards of constraints and triggers in the database."""

from tests.guards.notation import guards

GUARDS = guards(r"""

# --- Batches ---
the database itself holds: the counts of a batch add up
    sql: ALTER TABLE batch DROP CONSTRAINT the_counts_of_a_batch_add_up
    test_the_database_refuses_contradictory_rows[the_counts_of_a_batch_add_up]
the database itself holds: the missed are among the failed
    sql: ALTER TABLE batch DROP CONSTRAINT the_missed_are_among_the_failed
    test_the_database_refuses_contradictory_rows[the_missed_are_among_the_failed]
the database itself holds: a batch holds at most 500
    sql: ALTER TABLE batch DROP CONSTRAINT a_batch_holds_at_most_500
    test_the_database_refuses_contradictory_rows[a_batch_holds_at_most_500]
the database itself holds: a lease is held exactly while a worker works
    sql: ALTER TABLE batch DROP CONSTRAINT a_lease_is_held_exactly_while_a_worker_works
    test_the_database_refuses_contradictory_rows[a_lease_is_held_exactly_while_a_worker_works0]
the database itself holds: a done batch has nothing open
    sql: ALTER TABLE batch DROP CONSTRAINT a_done_batch_has_nothing_open
    test_the_database_refuses_contradictory_rows[a_done_batch_has_nothing_open]
the database itself holds: doubt has a beginning
    sql: ALTER TABLE batch DROP CONSTRAINT unknown_has_a_beginning
    test_the_database_refuses_contradictory_rows[unknown_has_a_beginning]
the database itself holds: a call is made under an attempt
    sql: ALTER TABLE batch DROP CONSTRAINT a_call_is_made_under_an_attempt
    test_the_database_refuses_contradictory_rows[a_call_is_made_under_an_attempt]
a rolled-up batch that changes leaves the totals
    sql: DROP TRIGGER a_changed_batch_is_not_rolled_up ON batch
    test_late_bounces_change_the_rolled_up_counts
a batch without its final outcomes is not rolled up
    _ROLL_UP: WHERE NOT rolled_up «AND state = 'done' AND missed = 0 AND
        unknown_since IS NULL»
    test_rolled_up_batches_keep_the_counts
a roll-up leaves a batch that changes at the same time
    _ROLL_UP: LIMIT %s FOR NO KEY UPDATE «SKIP LOCKED»
    test_a_batch_that_changes_now_is_left_for_later

# --- Deliveries ---
the database itself holds: delivery pkey
    sql: ALTER TABLE delivery DROP CONSTRAINT delivery_pkey
    test_the_database_refuses_contradictory_rows[delivery_pkey]
the database itself holds: delivery outcome is known
    sql: ALTER TABLE delivery DROP CONSTRAINT delivery_outcome_is_known
    test_the_database_refuses_contradictory_rows[delivery_outcome_is_known]
the database itself holds: sent only with a provider id a time and evidence
    sql: ALTER TABLE delivery DROP CONSTRAINT sent_only_with_a_provider_id_a_time_and_evidence
    test_the_database_refuses_contradictory_rows[sent_only_with_a_provider_id_a_time_and_evidence]
the database itself holds: failed always says why
    sql: ALTER TABLE delivery DROP CONSTRAINT failed_always_says_why
    test_the_database_refuses_contradictory_rows[failed_always_says_why]
the database itself holds: only a failed copy was missed
    sql: ALTER TABLE delivery DROP CONSTRAINT only_a_failed_copy_was_missed
    test_the_database_refuses_contradictory_rows[only_a_failed_copy_was_missed]

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
the database itself holds: an edition is not held before it is published
    sql: ALTER TABLE edition DROP CONSTRAINT an_edition_is_not_held_before_it_is_published
    test_the_database_refuses_contradictory_rows[an_edition_is_not_held_before_it_is_published]
the database itself holds: edition control is known
    sql: ALTER TABLE edition DROP CONSTRAINT edition_control_is_known
    test_the_database_refuses_contradictory_rows[edition_control_is_known]
the database itself holds: a stopped edition says why
    sql: ALTER TABLE edition DROP CONSTRAINT a_stopped_edition_says_why
    test_the_database_refuses_contradictory_rows[a_stopped_edition_says_why]
the database itself holds: edition goes to is known
    sql: ALTER TABLE edition DROP CONSTRAINT edition_goes_to_is_known
    test_the_database_refuses_contradictory_rows[edition_goes_to_is_known]
the database itself holds: nothing runs before it is reconciled
    sql: ALTER TABLE edition DROP CONSTRAINT nothing_runs_before_it_is_reconciled
    test_the_database_refuses_contradictory_rows[nothing_runs_before_it_is_reconciled]
the database itself holds: the content of an edition never changes
    sql: DROP TRIGGER the_content_of_an_edition_never_changes ON edition
    test_the_content_of_an_edition_never_changes
the database itself holds: a cancelled edition stays cancelled
    sql: DROP TRIGGER a_cancelled_edition_stays_cancelled ON edition
    test_a_cancelled_edition_stays_cancelled

# --- Attempts, evidence, alarms, events ---
the database itself holds: an attempt cannot accept more than it carries
    sql: ALTER TABLE attempt DROP CONSTRAINT an_attempt_cannot_accept_more_than_it_carries
    test_the_database_refuses_contradictory_rows[an_attempt_cannot_accept_more_than_it_carries]
the database itself holds: an answered attempt has ended
    sql: ALTER TABLE attempt DROP CONSTRAINT an_answered_attempt_has_ended
    test_the_database_refuses_contradictory_rows[an_answered_attempt_has_ended]
the database itself holds: one row per provider id
    sql: ALTER TABLE evidence DROP CONSTRAINT one_row_per_provider_id
    test_the_database_refuses_contradictory_rows[one_row_per_provider_id]
the database itself holds: an alarm is raised once
    sql: ALTER TABLE alarm DROP CONSTRAINT an_alarm_is_raised_once
    test_the_database_refuses_contradictory_rows[an_alarm_is_raised_once]
the database itself holds: an event is stored once
    sql: ALTER TABLE provider_event DROP CONSTRAINT an_event_is_stored_once
    test_the_database_refuses_contradictory_rows[an_event_is_stored_once]

# --- Tables with one row ---
the database itself holds: there is one newsletter
    sql: ALTER TABLE newsletter DROP CONSTRAINT there_is_one_newsletter
    test_the_database_refuses_contradictory_rows[there_is_one_newsletter]
the database itself holds: there is one pace
    sql: ALTER TABLE send_rate DROP CONSTRAINT there_is_one_send_rate
    test_the_database_refuses_contradictory_rows[there_is_one_send_rate]
the database itself holds: there is one identity
    sql: ALTER TABLE database_identity DROP CONSTRAINT there_is_one_identity
    test_the_database_refuses_contradictory_rows[there_is_one_identity]

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

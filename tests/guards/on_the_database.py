"""Guards in the database itself, which hold whatever the code does."""

from __future__ import annotations

from tests.guards.guard import Guard, constraint, guard

FIRST = "delivery/0001_editions_batches_and_deliveries"
FROZEN = "delivery/0002_content_is_frozen_and_the_one_rows_are_there"
LIFE = "delivery/0003_life_of_an_edition"
ENDED = "delivery/0004_cancelled_stays_cancelled"
DESK = "delivery/0012_what_the_desk_writes"
FORMS = "idempotency/0001_a_posted_form_is_remembered"

PROMISES = "tests/delivery/test_what_the_database_promises.py::"
ROW = f"{PROMISES}test_the_row_cannot_lie"
CANCELLING = "tests/delivery/test_cancelling.py::TestCancelling::"
FORM_ROW = "tests/idempotency/test_a_row_that_cannot_lie.py::"


def row(name: str, table: str, file: str) -> Guard:
    """A constraint that has its row in the table of statements that must be refused."""
    return constraint(name, table, file, f"{ROW}[{name}]")


GUARDS = [
    # --- Batches ----------------------------------------------------------------------------------
    row("the_counts_of_a_batch_add_up", "batch", FIRST),
    row("the_missed_are_among_the_failed", "batch", FIRST),
    row("a_batch_holds_at_most_500", "batch", FIRST),
    constraint(
        "a_lease_is_held_exactly_while_a_worker_works",
        "batch",
        FIRST,
        f"{ROW}[a_lease_is_held_exactly_while_a_worker_works0]",
    ),
    row("a_done_batch_has_nothing_open", "batch", FIRST),
    row("doubt_has_a_beginning", "batch", FIRST),
    row("a_call_is_made_under_an_attempt", "batch", FIRST),
    # --- Deliveries -------------------------------------------------------------------------------
    constraint(
        "delivery_pkey",
        "delivery",
        FIRST,
        f"{ROW}[delivery_pkey]",
        named='"issue",\n                        "recipient",\n                        "version",',
    ),
    row("delivery_outcome_is_known", "delivery", FIRST),
    row("sent_only_with_a_provider_id_a_time_and_evidence", "delivery", FIRST),
    row("failed_always_says_why", "delivery", FIRST),
    row("only_a_failed_copy_was_missed", "delivery", LIFE),
    # --- Editions ---------------------------------------------------------------------------------
    constraint(
        "one_edition_per_issue_and_version",
        "edition",
        FIRST,
        "tests/publishing/test_corrections.py::"
        "test_whoever_comes_while_another_publishes_that_version_waits_and_gets_theirs",
    ),
    constraint(
        "an_author_publishes_once_per_key",
        "edition",
        FIRST,
        f"{PROMISES}test_an_author_publishes_once_per_key_even_past_all_code",
    ),
    constraint(
        "versions_count_from_one",
        "edition",
        FIRST,
        f"{PROMISES}test_versions_count_from_one_even_past_all_code",
    ),
    row("an_edition_is_not_held_before_it_is_published", "edition", FIRST),
    constraint(
        "edition_control_is_known",
        "edition",
        DESK,
        f"{ROW}[edition_control_is_known]",
        named='                name="edition_control_is_known"',
    ),
    row("a_stopped_edition_says_why", "edition", FIRST),
    row("edition_goes_to_is_known", "edition", LIFE),
    row("nothing_runs_before_it_is_reconciled", "edition", LIFE),
    guard(
        "the database itself holds: the content of an edition never changes",
        f"migrations/{FROZEN}.py",
        "    RAISE EXCEPTION 'the content of edition % never changes after publishing', OLD.id\n"
        "        USING ERRCODE = 'integrity_constraint_violation',\n"
        "              HINT = 'Publish a correction as a new version.';\n",
        "    RETURN NEW;\n",
        f"{PROMISES}test_the_content_of_an_edition_never_changes",
    ),
    guard(
        "the database itself holds: a cancelled edition stays cancelled",
        f"migrations/{ENDED}.py",
        "    WHEN (OLD.control = 'cancelled' AND NEW.control <> 'cancelled')",
        "    WHEN (false)",
        f"{CANCELLING}test_it_is_for_good",
    ),
    # --- Attempts, evidence, alarms, events -------------------------------------------------------
    row("an_attempt_cannot_accept_more_than_it_carries", "attempt", FIRST),
    row("an_answered_attempt_has_ended", "attempt", FIRST),
    row("one_row_per_provider_id", "evidence", FIRST),
    row("an_alarm_is_raised_once", "alarm", LIFE),
    row("an_event_is_stored_once", "provider_event", LIFE),
    # --- The rows there is one of -----------------------------------------------------------------
    row("there_is_one_newsletter", "newsletter", FIRST),
    row("there_is_one_pace", "pace", FIRST),
    row("there_is_one_identity", "database_identity", LIFE),
    # --- Posted forms -----------------------------------------------------------------------------
    constraint(
        "an_answer_is_saved_whole_or_not_at_all",
        "idempotency",
        FORMS,
        f"{FORM_ROW}test_an_answer_is_saved_whole_or_not_at_all",
    ),
    constraint(
        "only_an_answer_to_committed_work_is_saved",
        "idempotency",
        FORMS,
        f"{FORM_ROW}test_only_an_answer_to_committed_work_is_saved",
    ),
    constraint(
        "a_key_is_1_to_49_printable_ascii_characters",
        "idempotency",
        FORMS,
        f"{FORM_ROW}test_the_table_refuses_the_keys_that_the_app_refuses",
    ),
    # --- Readers ----------------------------------------------------------------------------------
    constraint(
        "one_subscriber_per_address",
        "subscriber",
        "subscribers/0001_subscribers",
        "tests/subscribers/test_rows_that_cannot_lie.py::"
        "test_an_address_stands_on_the_list_once_whatever_its_case",
    ),
    constraint(
        "one_suppression_per_address",
        "suppression",
        "subscribers/0001_subscribers",
        "tests/subscribers/test_rows_that_cannot_lie.py::test_an_address_is_suppressed_once",
    ),
]

"""Guards of a change beside workers: little patience, one at a time, nothing half done."""

from __future__ import annotations

from tests.guards.guard import Change, covered, guard

GUARD = "newsletter_site/migrating/guard.py"
EDITOR = "newsletter_site/migrating/schema_editor.py"
HOLDERS = "newsletter_site/migrating/holders.py"
RULE = "newsletter_site/migrating/additive.py"
COMMAND = "newsletter_site/management/commands/migrate.py"

BESIDE = "tests/faults/test_migrating_beside_workers.py::"
BUILDING = "tests/faults/test_building_an_index_beside_workers.py::"
ADDS = "tests/newsletter_site/test_what_a_migration_may_do.py::"

GUARDS = [
    guard(
        "a migration gives up a lock that does not come soon",
        GUARD,
        '[f"{max(lock_s * 1000, 1):.0f}"]',
        '["0"]',
        f"{BESIDE}test_while_a_lock_is_not_to_be_had_workers_go_on_and_all_is_sent",
    ),
    guard(
        "a session's statement is not repeated",
        HOLDERS,
        'return word if word in KINDS else "a statement"',
        "return self.query",
        f"{BESIDE}test_what_a_migration_waits_for_is_said_without_the_words_of_anybodys_statement",
    ),
    covered(
        "one run migrates at a time",
        "each of the two locks keeps a second run from the same migration",
        (
            Change(
                GUARD,
                'cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [OURS, THE_NEXT])',
                "pass",
            ),
            Change(
                GUARD,
                'cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [OURS, AT_WORK])',
                "pass",
            ),
        ),
        f"{BESIDE}test_of_two_that_start_at_once_one_migrates_and_the_other_finds_it_done",
    ),
    guard(
        "what somebody applied meanwhile is not applied again",
        EDITOR,
        "        if is_applied == self._under_way.is_forwards:",
        "        if False:",
        f"{BESIDE}test_a_migration_that_somebody_applied_since_the_plan_was_made_is_not_"
        "applied_again",
    ),
    guard(
        "a migration is recorded in its own transaction",
        EDITOR,
        "            elif put_off:",
        "            elif False:",
        f"{BESIDE}test_a_migration_is_on_record_in_the_transaction_that_did_it",
    ),
    guard(
        "an index of a build that was cut is built anew",
        EDITOR,
        '            cursor.execute(f"DROP INDEX {self.quote_name(index.name)}")',
        "            return",
        f"{BUILDING}test_an_index_that_a_killed_run_left_invalid_is_built_anew",
    ),
    guard(
        "an index that the server still builds is waited for",
        EDITOR,
        "            if found[0]:",
        "            if False:",
        f"{BUILDING}test_a_build_that_goes_on_after_its_run_was_killed_is_waited_for_and_built_anew",
    ),
    guard(
        "an index that another run built is not built anew",
        EDITOR,
        "            self._look_again(cursor)\n            cursor.execute(\n",
        "            cursor.execute(\n",
        f"{BUILDING}test_an_index_that_somebody_built_since_the_plan_was_made_is_left_as_it_is",
    ),
    guard(
        "a vacuum of the server is waited for until it makes way",
        "newsletter_site/settings.py",
        'env.seconds("MIGRATE_LOCK_TIMEOUT_S", 2, ',
        'env.seconds("MIGRATE_LOCK_TIMEOUT_S", 1, ',
        f"{BESIDE}test_a_vacuum_of_the_server_makes_way_for_a_migration",
    ),
    guard(
        "a build that waits too long is cut",
        EDITOR,
        "            driver.cancel_safe()",
        "            pass",
        f"{BUILDING}test_a_build_that_waits_too_long_is_cut_and_leaves_no_invalid_index",
    ),
    guard(
        "a database that does not answer yet is waited for",
        COMMAND,
        "or not may_come(words):",
        "or True:",
        f"{BESIDE}test_a_database_that_does_not_answer_yet_is_waited_for",
    ),
    guard(
        "a new column costs old code nothing",
        RULE,
        "    if not field.null and field.db_default is NOT_PROVIDED:",
        "    if False:",
        f"{ADDS}test_what_old_code_or_a_busy_table_would_feel_is_a_fault",
    ),
    guard(
        "what old code's ON CONFLICT names stays unique",
        RULE,
        'return "" if isinstance(what, CheckConstraint) else f"old code relies on it; {LATER}"',
        'return ""',
        f"{ADDS}test_what_old_code_or_a_busy_table_would_feel_is_a_fault",
    ),
    guard(
        "a column that old code leaves out keeps its default",
        RULE,
        '    if "db_default" in before and "db_default" not in after:',
        "    if False:",
        f"{ADDS}test_what_old_code_or_a_busy_table_would_feel_is_a_fault",
    ),
    guard(
        "one migration locks one table",
        RULE,
        "    if len(locked) > 1:",
        "    if False:",
        f"{ADDS}test_one_migration_locks_one_table_of_before",
    ),
]

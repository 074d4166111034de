"""Guards of a change beside workers: little patience, one at a time, nothing half done."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a migration gives up a lock that does not come soon
    little_patience: [«f"{max(lock_s * 1000, 1):.0f}" → "0"»]
    test_while_a_lock_is_not_to_be_had_workers_go_on_and_all_is_sent
a session's statement is not repeated
    Holder.kind: return «word if word in KINDS else "a statement" → self.query»
    test_what_a_migration_waits_for_is_said_without_the_words_of_anybodys_statement
one run migrates at a time
    why: each of the two locks keeps a second run from the same migration
    the_next: «cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [OURS, THE_NEXT]) → pass»
    at_work: «cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [OURS, AT_WORK]) → pass»
    test_of_two_that_start_at_once_one_migrates_and_the_other_finds_it_done
what somebody applied meanwhile is not applied again
    PatientSchemaEditor._look_again: if «is_applied == self._under_way.is_forwards → False»:
    test_a_migration_that_somebody_applied_since_the_plan_was_made_is_not_applied_again
a migration is recorded in its own transaction
    PatientSchemaEditor._finish: elif «put_off → False»:
    test_a_migration_is_on_record_in_the_transaction_that_did_it
an index of a build that was cut is built anew
    PatientSchemaEditor._drop_left_behind: «cursor.execute(f"DROP INDEX
        {self.quote_name(index.name)}") → return»
    test_an_index_that_a_killed_run_left_invalid_is_built_anew
an index that the server still builds is waited for
    PatientSchemaEditor._drop_left_behind: if «found[0] → False»:
    test_a_build_that_goes_on_after_its_run_was_killed_is_waited_for_and_built_anew
an index that another run built is not built anew
    PatientSchemaEditor._drop_left_behind: «self._look_again(cursor)» cursor.execute(
    test_an_index_that_somebody_built_since_the_plan_was_made_is_left_as_it_is
a vacuum of the server is waited for until it makes way
    MIGRATE_LOCK_TIMEOUT_S: env.seconds("MIGRATE_LOCK_TIMEOUT_S", «2 → 1»,
    test_a_vacuum_of_the_server_makes_way_for_a_migration
a build that waits too long is cut
    PatientSchemaEditor._on_wait: «driver.cancel_safe() → pass»
    test_a_build_that_waits_too_long_is_cut_and_leaves_no_invalid_index
a database that does not answer yet is waited for
    Command._wait_until_it_answers: or «not may_come(words) → True»:
    test_a_database_that_does_not_answer_yet_is_waited_for
""")

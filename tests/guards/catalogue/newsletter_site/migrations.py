"""Guards of `migrate` beside workers: short waits for locks, one run, whole migrations."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a migration gives up a lock that does not come soon
    limit_lock_wait: [«f"{max(lock_s * 1000, 1):.0f}" → "0"»]
    test_while_a_lock_is_not_to_be_had_workers_go_on_and_all_is_sent
a session's statement is not repeated
    _WAITS: «upper(substring(holder.query FROM '^\s*([A-Za-z]+)\M')) → holder.query»
    test_what_a_migration_waits_for_is_said_without_the_words_of_anybodys_statement
one run migrates at a time
    single_run: «cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ONE_RUN]) → pass»
    test_another_run_at_work_is_said_to_be_waited_for
a migration is recorded in its own transaction
    Command.migration_progress_callback: if «migration.atomic → False»:
    test_a_migration_is_on_record_in_the_transaction_that_did_it
an index of a build that was cut is built anew
    Command._drop_unfinished_indexes: «cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}") →
        pass»
    test_an_index_that_a_killed_run_left_invalid_is_built_anew
a vacuum of the server is waited for until it makes way
    MIGRATE_LOCK_TIMEOUT_S: env.seconds("MIGRATE_LOCK_TIMEOUT_S", «2 → 1»,
    test_a_vacuum_of_the_server_makes_way_for_a_migration
a build that waits too long is cut
    watch_locks.look: «driver.cancel_safe() → pass»
    test_a_build_that_waits_too_long_is_cut_and_leaves_no_invalid_index
a database that does not answer yet is waited for
    Command._wait_for_database: if «is_embedded or any(phrase in words for phrase in
        PERMANENT) → True»:
    test_a_database_that_does_not_answer_yet_is_waited_for
""")

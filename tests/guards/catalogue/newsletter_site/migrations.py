"""Guards of `migrate` while workers run: short lock waits, one run, whole steps."""

from tests.guards.notation import guards

GUARDS = guards(r"""
a migration gives up a lock that takes long
    limit_lock_wait: [«f"{max(lock_s * 1000, 1):.0f}" → "0"»]
    test_workers_continue_while_a_migration_cannot_get_its_lock
a lock holder's statement is not shown
    _WAITS: «upper(substring(holder.query FROM '^\s*([A-Za-z]+)\M')) → holder.query»
    test_migration_names_lock_holders_without_their_statements
one run migrates at a time
    single_run: «cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ONE_RUN]) → pass»
    test_waiting_for_another_run_is_reported
a migration is recorded in its own transaction
    Command.migration_progress_callback: if «migration.atomic → False»:
    test_migration_is_recorded_in_its_own_transaction
an index of a cancelled build is rebuilt
    Command._drop_unfinished_indexes: «cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}") →
        pass»
    test_invalid_index_of_a_killed_run_is_rebuilt
a migration waits until the server's vacuum yields
    MIGRATE_LOCK_TIMEOUT_S: env.seconds("MIGRATE_LOCK_TIMEOUT_S", «2 → 1»,
    test_autovacuum_yields_to_a_migration
a build that waits too long is cancelled
    watch_locks.look: «driver.cancel_safe() → pass»
    test_build_that_waits_too_long_leaves_no_invalid_index
a starting database is waited for
    Command._wait_for_database: if «is_embedded or any(phrase in words for phrase in
        PERMANENT) → True»:
    test_migrate_waits_for_a_starting_database
""")

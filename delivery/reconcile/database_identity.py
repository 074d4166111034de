"""Detect a restored database: its stored identity differs from the server's.

No batch can be claimed until its edition is reconciled (docs/decisions/0012-a-restored-backup.md).
"""

import logging
from dataclasses import dataclass, replace

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models.functions import Now

from delivery.feedback.poll_provider import polling_tasks_by_stream
from delivery.hooks import reader_hooks
from delivery.models import Edition
from delivery.queue.batches.batch_state import skip_epochs
from delivery.queue.edition_control import stop
from delivery.queue.enqueue_test_letter import skip_numbers
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.rules.edition_state import restored
from delivery.tasks.periodic_task_lease import make_due

# This SQL is part of a restore's transaction, so that no worker can claim a batch between the
# restore and the next check. No database has the oid 0. `RESET` is needed because pg_restore leaves
# an empty search_path.
DECLARE_IN_SQL = """
    RESET search_path;
    INSERT INTO database_identity (id, system_identifier, timeline, database, since)
    VALUES (1, '', '', 0, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET database = 0, since = clock_timestamp();
"""

logger = logging.getLogger(__name__)

# Workers may hold claims from before the restore, with epochs that this database would use again.
# The gap is larger than the number of claims of any batch between a backup and its restore.
EPOCH_GAP = 1_000_000


@dataclass(frozen=True, slots=True)
class IdentityCheck:
    """The result of a check.

    `is_another`: the stored identity was that of another database. `stopped` are the editions to
    reconcile. `unavailable_fields` names the fields that this server does not report.
    """

    is_another: bool
    has_more_to_store: bool
    difference: str
    unavailable_fields: list[str]
    stopped: tuple[int, ...] = ()


def check_identity() -> IdentityCheck:
    """Compare the database's identity with the stored identity; store the new one.

    If the identity differs, every open edition stops in the same transaction. While the identity
    has not changed, the check takes only one statement.
    """
    with short_transaction() as cursor:
        stored = _compare_identity(cursor, lock=False)
        if stored is not None and not stored.is_another and not stored.has_more_to_store:
            return stored
        found = _lock_identity(cursor)
        if found.is_another:
            found = replace(found, stopped=_prepare_restored_database(cursor))
            logger.critical(
                "this is not the known database (%s): %d open editions stop until they are "
                "reconciled; run ./homing reconcile",
                found.difference,
                len(found.stopped),
            )
        _store(cursor)
    if found.is_another:
        _analyse()
    return found


def declare_restored() -> tuple[int, ...]:
    """At an operator's request, treat the database as restored.

    Returns the editions to reconcile. `check_identity` cannot notice a restore of files of the same
    server, or of tables in the same database. Use this function after such a restore.
    """
    with short_transaction() as cursor:
        _lock_identity(cursor)
        stopped = _prepare_restored_database(cursor)
        _store(cursor)
    _analyse()
    logger.critical("an operator declared a restore: %d open editions stop", len(stopped))
    return stopped


def short_name(cursor: CursorWrapper) -> str:
    """Return a name for this database.

    The name changes if a restore is found or declared.
    """
    cursor.execute(
        """
        SELECT left(encode(sha256(concat_ws(' ', this.system_identifier, this.timeline,
                                            this.database, stored.since)::bytea), 'hex'), 8)
        FROM this_database_1() AS this LEFT JOIN database_identity AS stored ON true
        """
    )
    return str(cursor.fetchone()[0])


def _lock_identity(cursor: CursorWrapper) -> IdentityCheck:
    """Lock the row of the stored identity and compare it with the server's.

    Call this before any edition is locked: a check and a declared restore must not deadlock.
    """
    # Insert a row to lock, because two workers may start at the same time.
    cursor.execute(
        """
        INSERT INTO database_identity (id, system_identifier, timeline, database, since)
        SELECT 1, system_identifier, timeline, database, clock_timestamp() FROM this_database_1()
        ON CONFLICT DO NOTHING
        """
    )
    found = _compare_identity(cursor, lock=True)
    assert found is not None  # noqa: S101 -- it was just stored
    return found


def _compare_identity(cursor: CursorWrapper, *, lock: bool) -> IdentityCheck | None:
    cursor.execute(
        f"""
        SELECT is_other_database_1(stored),
               (stored.system_identifier = '' AND this.system_identifier <> '')
                   OR (stored.timeline = '' AND this.timeline <> ''),
               format('%s/%s/%s, now %s/%s/%s', stored.system_identifier, stored.timeline,
                      stored.database, this.system_identifier, this.timeline, this.database),
               array_remove(ARRAY[
                   CASE this.system_identifier WHEN '' THEN 'system identifier' END,
                   CASE this.timeline WHEN '' THEN 'timeline' END], NULL)
        FROM database_identity AS stored, this_database_1() AS this
        {"FOR UPDATE OF stored" if lock else ""}
        """  # noqa: S608 -- constants
    )
    row = cursor.fetchone()
    return IdentityCheck(*row) if row else None


def _store(cursor: CursorWrapper) -> None:
    cursor.execute(
        """
        UPDATE database_identity AS stored SET
            system_identifier = coalesce(nullif(this.system_identifier, ''),
                                         stored.system_identifier),
            timeline = coalesce(nullif(this.timeline, ''), stored.timeline),
            database = this.database, since = clock_timestamp()
        FROM this_database_1() AS this
        """
    )


def _prepare_restored_database(cursor: CursorWrapper) -> tuple[int, ...]:
    reader_hooks.registered().reserve_ids()
    skip_numbers()
    # Poll the provider's suppression lists soon, because the lists contain the readers who
    # unsubscribed after the backup.
    make_due(polling_tasks_by_stream().values())
    return _stop_open_editions(cursor)


def _analyse() -> None:
    """Gather statistics for tables that have none, as after the restore of a dump."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT string_agg(oid::regclass::text, ', ') FROM pg_class
            WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
                  AND reltuples < 0 AND pg_has_role(relowner, 'USAGE')
            """
        )
        (tables,) = cursor.fetchone()
        if tables:
            cursor.execute(f"ANALYZE (SKIP_LOCKED) {tables}")


def _stop_open_editions(cursor: CursorWrapper) -> tuple[int, ...]:
    """Stop every open edition. Scheduled editions may have been sent after the backup."""
    cursor.execute(
        """
        SELECT id, issue_id FROM edition
        WHERE deliveries_dropped_at IS NULL
              AND EXISTS (SELECT FROM batch
                          WHERE edition_id = edition.id AND batch_is_open_1(batch))
           OR (control IN ('running', 'paused') AND held_until > clock_timestamp())
           OR control = 'scheduled'
        ORDER BY id
        """
    )
    unreconciled = []
    for edition, issue in cursor.fetchall():
        control = lock_edition(cursor, edition)
        if control == "running":
            stop(cursor, edition, restored(issue))
        skip_epochs(edition, EPOCH_GAP)
        if control != "cancelled":
            Edition.objects.filter(pk=edition).update(unreconciled_since=Now())
            unreconciled.append(edition)
    return tuple(unreconciled)

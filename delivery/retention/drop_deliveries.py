"""Drop the deliveries of old editions that have ended.

First an edition is marked, and its deliveries are no longer shown or counted. Then the deliveries
are deleted, a few batches at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from delivery.models import Batch, Edition
from delivery.models.batch import BATCHES_PER_EDITION
from delivery.queue.erasure_lock import LOCK_ENQUEUE, wait_for_enqueues
from delivery.queue.short_transaction import lock_edition
from delivery.retention.batched_delete import short_delete

# How many deliveries one transaction deletes: few enough not to delay other sessions.
DELIVERIES_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class DropStatus:
    """Whether deliveries may be dropped; if not, `obstacle` is the reason, else ''."""

    edition: int
    obstacle: str
    old_enough_at: datetime
    dropped_at: datetime | None

    @property
    def may_be_dropped(self) -> bool:
        """Whether the edition's deliveries may be dropped now."""
        return not self.obstacle and self.dropped_at is None


_STATUS = """
    SELECT edition.id, CASE
           WHEN kind <> 'newsletter' THEN 'on_request'
           WHEN unreconciled_since IS NOT NULL OR probing
               OR CASE control WHEN 'cancelled' THEN open.any
                               WHEN 'closed' THEN open.moving
                               WHEN 'running' THEN open.any OR open.missed
                                                   OR held_until > clock_timestamp()
                               ELSE true END THEN 'not_over'
           WHEN NOT EXISTS (
               SELECT FROM edition AS later
               WHERE later.kind = 'newsletter' AND later.control <> 'scheduled'
                 AND later.issue_id <> edition.issue_id
                 AND (later.published_at, later.id) > (edition.published_at, edition.id)
                 -- One that was called back reached nobody.
                 AND EXISTS (SELECT FROM batch
                             WHERE batch.edition_id = later.id AND sent > 0)) THEN 'newest'
           WHEN EXISTS (SELECT FROM edition AS later
                        WHERE later.issue_id = edition.issue_id AND later.control = 'scheduled'
                          AND later.goes_to IN ('reached', 'unreached')) THEN 'scheduled_correction'
           -- An event about a delivery names the issue, in its key or tag.
           WHEN EXISTS (SELECT FROM provider_event
                        WHERE applied_at IS NULL
                          AND position(convert_to(replace(edition.issue_id::text, '-', ''), 'UTF8')
                                       IN body) > 0) THEN 'unapplied_event'
           WHEN last.moved_at + make_interval(secs => %(age)s) > clock_timestamp() THEN 'too_young'
           ELSE '' END,
           last.moved_at + make_interval(secs => %(age)s), deliveries_dropped_at
    FROM edition
    LEFT JOIN LATERAL (
        SELECT coalesce(bool_or(state <> 'done'), false) AS any,
               coalesce(bool_or(state NOT IN ('done', 'parked')), false) AS moving,
               coalesce(bool_or(missed > 0), false) AS missed
        FROM batch WHERE batch.edition_id = edition.id AND batch_is_open_1(batch)
    ) AS open ON true
    LEFT JOIN LATERAL (
        SELECT greatest(published_at, held_until, control_at,
                        -- The end of a crashed worker's call is unknown.
                        (SELECT max(greatest(finished_at, deadline_at)) FROM attempt
                         WHERE attempt.edition_id = edition.id)) AS moved_at
    ) AS last ON true
"""


def load_drop_status(edition: int, *, days: float) -> DropStatus:
    """Load the status of an edition whose deliveries are kept for `days`.

    Raises `LookupError`.
    """
    for status in _load("edition.id = %(edition)s", days, edition=edition):
        return status
    raise LookupError(f"There is no edition {edition}.")


def _load(where: str, days: float, **params: int) -> list[DropStatus]:
    with connection.cursor() as cursor:
        cursor.execute(f"{_STATUS} WHERE {where}", {"age": days * 86400, **params})
        return [DropStatus(*row) for row in cursor.fetchall()]


def load_due(*, days: float) -> list[int]:
    """Load the editions whose deliveries may be dropped after `days`, oldest first."""
    found = _load(
        """
        kind = 'newsletter' AND deliveries_dropped_at IS NULL AND audience > 0
        AND published_at < clock_timestamp() - make_interval(secs => %(age)s) ORDER BY edition.id
        """,
        days,
    )
    return [status.edition for status in found if status.may_be_dropped]


def mark_dropped(edition: int, *, days: float) -> DropStatus:
    """Mark deliveries as dropped if allowed; return the status before the change.

    Publishing waits until this transaction has ended.
    """
    with short_delete() as cursor:
        wait_for_enqueues()
        lock_edition(cursor, edition)
        status = load_drop_status(edition, days=days)
        if status.may_be_dropped:
            Edition.objects.filter(pk=edition).update(deliveries_dropped_at=Now())
    return status


def load_dropped_versions(issue: UUID, before: int) -> list[tuple[int, datetime]]:
    """Load earlier versions whose sent deliveries were dropped, with the drop time.

    Inside a transaction that enqueues deliveries, the result stays true until the transaction ends.
    """
    if connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute(LOCK_ENQUEUE)
    reached = Edition.objects.filter(
        Exists(Batch.objects.filter(edition=OuterRef("pk"), sent__gt=0)),
        issue_id=issue,
        version__lt=before,
    )
    versions = reached.order_by("version").values_list("version", "deliveries_dropped_at")
    return [(version, at) for version, at in versions if at is not None]


_DELIVERIES_OF = f"""
    batch_id >= edition.id * {BATCHES_PER_EDITION}
    AND batch_id < (edition.id + 1) * {BATCHES_PER_EDITION}
"""


def load_unfinished() -> list[int]:
    """Load the editions that still have deliveries or evidence to delete."""
    # ORDER BY makes each sub-query read one row of an index. Without ORDER BY, PostgreSQL could
    # read a whole table.
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT id FROM edition
            WHERE deliveries_dropped_at IS NOT NULL
              AND coalesce(
                  (SELECT true FROM delivery WHERE {_DELIVERIES_OF} ORDER BY batch_id LIMIT 1),
                  (SELECT true FROM evidence
                   WHERE evidence.issue_id = edition.issue_id
                     AND evidence.version = edition.version
                   ORDER BY recipient_id LIMIT 1))
            ORDER BY id
            """  # noqa: S608 -- a constant
        )
        return [row[0] for row in cursor.fetchall()]


def count_deliveries(editions: Sequence[int]) -> int:
    """Count the deliveries of these editions. Reads all these deliveries."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT count(*) FROM edition JOIN delivery ON {_DELIVERIES_OF}
            WHERE edition.id = ANY(%s)
            """,  # noqa: S608 -- a constant
            [list(editions)],
        )
        return int(cursor.fetchone()[0])


def delete_deliveries(edition: int, *, batch_size: int = DELIVERIES_AT_ONCE) -> Iterator[int]:
    """Delete an edition's dropped deliveries by batches.

    Yields the number of deliveries that each step deleted.
    """
    after = edition * BATCHES_PER_EDITION - 1
    while True:
        with short_delete() as cursor:
            cursor.execute(
                """
                SELECT id FROM (
                    SELECT id, size, sum(size) OVER (ORDER BY id) AS total FROM batch
                    WHERE edition_id = %s AND id > %s ORDER BY id LIMIT %s) AS next
                WHERE total <= %s OR total = size ORDER BY id
                """,
                [edition, after, batch_size, batch_size],
            )
            batches = [row[0] for row in cursor.fetchall()]
            if not batches:
                break
            # The statement itself checks that the edition is marked. Rows are found by `ctid`, so
            # that only these batches are read, even with outdated statistics.
            cursor.execute(
                """
                DELETE FROM delivery WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM delivery
                    WHERE batch_id = ANY(%s)
                      AND (SELECT deliveries_dropped_at IS NOT NULL FROM edition WHERE id = %s)
                    FOR UPDATE SKIP LOCKED))
                """,
                [batches, edition],
            )
            gone = int(cursor.rowcount)
        yield gone
        after = batches[-1]
    yield from _delete_evidence(edition)


def _delete_evidence(edition: int) -> Iterator[int]:
    """Delete an edition's evidence without counting it.

    Alarms about second copies are kept.
    """
    while True:
        with short_delete() as cursor:
            cursor.execute(
                """
                DELETE FROM evidence WHERE ctid = ANY (ARRAY(
                    SELECT evidence.ctid FROM evidence JOIN edition USING (issue_id, version)
                    WHERE edition.id = %s AND deliveries_dropped_at IS NOT NULL
                    LIMIT %s FOR UPDATE OF evidence SKIP LOCKED))
                """,
                [edition, DELIVERIES_AT_ONCE],
            )
            gone = int(cursor.rowcount)
        yield 0
        if gone < DELIVERIES_AT_ONCE:
            return

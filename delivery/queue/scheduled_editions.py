"""Start, move and cancel scheduled editions.

One guarded statement starts an edition, in the transaction that enqueues its audience. So the
edition starts only once, and if this transaction fails, the edition is still scheduled.
"""

from datetime import datetime

from django.db.backends.utils import CursorWrapper
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from delivery.models import Edition
from delivery.queue.short_transaction import short_transaction
from delivery.rules.reason import Reason, ReasonCode, dumps
from delivery.rules.scheduled_time import ScheduledTime

IS_DUE = """control = 'scheduled' AND unreconciled_since IS NULL
             AND scheduled_for <= clock_timestamp()"""


def due() -> QuerySet[Edition]:
    """Select the editions that are due, the longest due first."""
    is_due = RawSQL(IS_DUE, [], output_field=BooleanField())  # noqa: S611 -- a constant
    return Edition.objects.filter(is_due).order_by("scheduled_for", "pk")


def begin(cursor: CursorWrapper, edition: int, *, immediately: bool = False) -> bool:
    """Run a scheduled edition that is due, or `immediately`.

    The caller enqueues the audience in the same transaction. Returns False if the edition is not
    due or no longer scheduled, or if the database was restored and does not know whether it was
    sent.
    """
    return _leave_schedule(
        cursor,
        edition,
        "running",
        """unreconciled_since IS NULL AND is_known_database_1()
            AND (%(immediately)s OR scheduled_for <= clock_timestamp())""",
        immediately=immediately,
    )


def begin_sent_before_restore(cursor: CursorWrapper, edition: int) -> bool:
    """Pause a scheduled edition that the provider already has copies of.

    The database was restored from a backup taken before the scheduled time. The edition stays
    unreconciled. The caller enqueues the edition's audience. Returns False if the edition is no
    longer scheduled.
    """
    return _leave_schedule(cursor, edition, "paused", "unreconciled_since IS NOT NULL")


def _leave_schedule(
    cursor: CursorWrapper,
    edition: int,
    control: str,
    guard: str,
    *,
    reason: Reason | None = None,
    immediately: bool = False,
) -> bool:
    cursor.execute(
        f"""
        UPDATE edition SET control = %(control)s, control_reason = %(reason)s,
               control_at = moment.now, published_at = moment.now, held_until = moment.now
        FROM (SELECT clock_timestamp() AS now) AS moment
        WHERE id = %(edition)s AND control = 'scheduled' AND {guard}
        """,  # noqa: S608 -- constants
        {
            "edition": edition,
            "control": control,
            "reason": dumps(reason),
            "immediately": immediately,
        },
    )
    return bool(cursor.rowcount)


def move(edition: int, at: ScheduledTime, *, before: datetime) -> bool:
    """Reschedule an edition; return False if it was not scheduled for `before`.

    Both times must be in the future, because a worker may be starting a due edition.
    """
    with short_transaction() as cursor:
        cursor.execute(
            """
            UPDATE edition SET scheduled_for = %(utc)s, scheduled_local = %(local)s,
                   scheduled_zone = %(zone)s, published_at = %(utc)s, held_until = %(utc)s
            WHERE id = %(edition)s AND control = 'scheduled' AND unreconciled_since IS NULL
              AND scheduled_for = %(before)s
              AND least(scheduled_for, %(utc)s) > clock_timestamp()
              AND is_known_database_1()
            """,
            {
                "edition": edition,
                "before": before,
                "utc": at.utc,
                "local": at.local,
                "zone": at.zone,
            },
        )
        return bool(cursor.rowcount)


def cancel(edition: int, *, called_back: bool) -> bool:
    """Cancel a scheduled edition; return False if it is no longer scheduled.

    Also return False if the database was restored and does not know whether the edition was
    sent.
    """
    reason = Reason.of(ReasonCode.CALLED_BACK_BEFORE_ITS_TIME) if called_back else None
    guard = "unreconciled_since IS NULL AND is_known_database_1()"
    with short_transaction() as cursor:
        return _leave_schedule(cursor, edition, "cancelled", guard, reason=reason)

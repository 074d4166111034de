"""Start, move and cancel scheduled editions.

One guarded statement starts an edition, in the transaction that enqueues its audience. So the
edition starts only once, and if this transaction fails, the edition is still scheduled.
"""

from datetime import datetime

from django.db.models import BooleanField, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.db.models.lookups import GreaterThan

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


def _scheduled(edition: int) -> QuerySet[Edition]:
    """Select a scheduled edition, if the database knows that the edition was not sent."""
    is_known_database = RawSQL("is_known_database_1()", [], output_field=BooleanField())
    return Edition.objects.filter(
        is_known_database, pk=edition, control="scheduled", unreconciled_since=None
    )


def begin(edition: int, *, immediately: bool = False) -> bool:
    """Start a scheduled edition if it is due, or at once if `immediately`.

    The caller enqueues the audience in the same transaction. Returns False if the edition is not
    due or no longer scheduled. Also returns False if the database was restored and does not know
    whether the edition was sent.
    """
    may_begin = Q() if immediately else Q(scheduled_for__lte=Now())
    return _leave_schedule(_scheduled(edition).filter(may_begin), "running")


def begin_sent_before_restore(edition: int) -> bool:
    """Pause a scheduled edition that the provider already has copies of.

    The database was restored from a backup taken before the scheduled time. The edition stays
    unreconciled. The caller enqueues the edition's audience. Returns False if the edition is no
    longer scheduled.
    """
    scheduled = Edition.objects.filter(pk=edition, control="scheduled")
    return _leave_schedule(scheduled.exclude(unreconciled_since=None), "paused")


def _leave_schedule(
    scheduled: QuerySet[Edition], control: str, reason: Reason | None = None
) -> bool:
    times = dict.fromkeys(("control_at", "published_at", "held_until"), Now())
    return bool(scheduled.update(control=control, control_reason=dumps(reason), **times))


def move(edition: int, at: ScheduledTime, *, before: datetime) -> bool:
    """Reschedule an edition; return False if its time is no longer `before`.

    The old and the new time must be in the future, because a worker may be starting a due edition.
    """
    new_time = dict.fromkeys(("scheduled_for", "published_at", "held_until"), at.utc)
    with short_transaction():
        movable = _scheduled(edition).filter(
            GreaterThan(Value(at.utc), Now()), scheduled_for=before, scheduled_for__gt=Now()
        )
        moved = movable.update(scheduled_local=at.local, scheduled_zone=at.zone, **new_time)
    return bool(moved)


def cancel(edition: int, *, called_back: bool) -> bool:
    """Cancel a scheduled edition; return False if it is no longer scheduled.

    Also return False if the database was restored and does not know whether the edition was
    sent.
    """
    reason = Reason.of(ReasonCode.CALLED_BACK_BEFORE_ITS_TIME) if called_back else None
    with short_transaction():
        return _leave_schedule(_scheduled(edition), "cancelled", reason)

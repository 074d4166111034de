"""Changes of the provider's suppression list, sent by one worker at a time."""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from delivery.feedback.latest_suppression_entries import save_lifted
from delivery.models import SuppressionChange
from delivery.provider.deadline_clock import now_s
from delivery.provider.events import AddressSuppressed
from delivery.provider.from_settings import capabilities, provider_from_settings
from delivery.provider.provider_protocol import SUPPRESSION_CHANGE, Change, Provider
from delivery.rules.call_results import SearchFailed
from delivery.rules.reason import Reason, ReasonCode
from delivery.tasks import periodic_task_lease
from delivery.tasks.periodic_task_lease import TaskPostponedError

# The largest assumed difference between the provider's clock and the database's.
MAX_CLOCK_SKEW = timedelta(minutes=5)

NAME = "push suppression changes"
# The most changes in one call (delivery/provider/provider_protocol.py).
MAX_CHANGES = 50
MAX_CALL_S = 30.0
# A lease is longer than a call, so that a second worker cannot send while the first is still
# sending.
LEASE_S = 120.0
RETRY_BASE_S = 5.0
RETRY_CAP_S = 900.0


def queue_suppression_change(address: str, change: Change, *, stream: str = "") -> None:
    """Queue a change in the caller's transaction, by default on the broadcast stream.

    Nothing is queued if the provider has no suppression list.
    """
    if not capabilities().has_suppression_list:
        return
    SuppressionChange.objects.create(
        address=address,
        address_key=address.lower(),
        stream=stream or settings.BROADCAST_STREAM,
        change=change,
    )


def was_requested_by_us(event: AddressSuppressed) -> bool:
    """Whether we requested this suppression, and had not lifted it before `event.at`."""
    assert event.at is not None  # noqa: S101 -- received_by sets it
    same = SuppressionChange.objects.filter(address_key=event.address_key, stream=event.stream)
    lifted = same.filter(
        id__gt=OuterRef("id"),
        change="reactivate",
        state=SuppressionChange.State.DONE,
        done_at__lt=event.at - MAX_CLOCK_SKEW,
    )
    asked = same.filter(change="suppress", requested_at__lte=event.at + MAX_CLOCK_SKEW)
    return asked.filter(~Exists(lifted)).exists()


def push_suppression_changes(is_stopping: Callable[[], bool]) -> None:
    """Send pending changes, if there are any.

    Every worker calls this function repeatedly.
    """
    # Changes that were queued for an earlier provider wait for a provider that has a list.
    if not (capabilities().has_suppression_list and _pending().exists()):
        return
    periodic_task_lease.ensure_exists(NAME)
    lease = periodic_task_lease.acquire(NAME, lease_s=LEASE_S)
    if lease is None:
        return
    with (
        closing(provider_from_settings()) as provider,
        periodic_task_lease.running(
            lease, again_in_s=0, retry_base_s=RETRY_BASE_S, retry_cap_s=RETRY_CAP_S
        ),
    ):
        _send_all(
            provider,
            lambda: not is_stopping() and periodic_task_lease.extend_lease(lease, lease_s=LEASE_S),
        )


def _pending() -> QuerySet[SuppressionChange]:
    return SuppressionChange.objects.filter(state=SuppressionChange.State.WAITING)


def _send_all(provider: Provider, may_continue: Callable[[], bool]) -> None:
    # Only the last change of an address is sent.
    same = {name: OuterRef(name) for name in ("address_key", "stream")}
    later = Exists(SuppressionChange.objects.filter(id__gt=OuterRef("id"), **same))
    _pending().filter(later).update(state=SuppressionChange.State.SUPERSEDED, done_at=Now())
    changes: tuple[Change, ...] = ("suppress", "reactivate")
    for stream in list(_pending().order_by("stream").values_list("stream", flat=True).distinct()):
        for change in changes:
            oldest = _pending().filter(~later, stream=stream, change=change).order_by("id")
            while may_continue() and (pending := list(oldest[:MAX_CHANGES])):
                _send(provider, stream, change, pending)


def _send(
    provider: Provider, stream: str, change: Change, pending: Sequence[SuppressionChange]
) -> None:
    results = provider.change_suppressions(
        change,
        stream,
        [each.address for each in pending],
        deadline_at_s=now_s() + min(MAX_CALL_S, provider.deadline_s),
    )
    if isinstance(results, SearchFailed):
        raise TaskPostponedError(results.reason, results.retry_after_s)
    named = [each for each in pending if each.address_key in results]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE suppression_change
            SET state = CASE WHEN answer = '' THEN 'done' ELSE 'refused' END,
                refusal_reason = answer, done_at = clock_timestamp()
            FROM unnest(%s::bigint[], %s::text[]) AS result (change_id, answer)
            WHERE id = change_id AND state = 'waiting'
            """,
            [[each.id for each in named], [results[each.address_key] for each in named]],
        )
        if change == "reactivate":
            save_lifted(cursor, [each.id for each in named])
    if len(named) < len(pending):
        raise TaskPostponedError(Reason.of(ReasonCode.QUERY_INCOMPLETE, subject=SUPPRESSION_CHANGE))

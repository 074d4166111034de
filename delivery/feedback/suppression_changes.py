"""Queues changes of the provider's suppression list, and records its answers."""

from collections.abc import Mapping, Sequence
from typing import Literal

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from delivery.models import SuppressionChange
from delivery.postmark.provider_events import AddressSuppressed

Change = Literal["suppress", "reactivate"]

# The most that the provider's clock and the database's may differ.
MAX_CLOCK_SKEW_S = 300


def _pending() -> QuerySet[SuppressionChange]:
    return SuppressionChange.objects.filter(state=SuppressionChange.State.WAITING)


def _later() -> Exists:
    same = {name: OuterRef(name) for name in ("address_key", "stream")}
    return Exists(SuppressionChange.objects.filter(id__gt=OuterRef("id"), **same))


def queue_suppression_change(address: str, change: Change) -> None:
    """Queue a change on the broadcast stream, in the caller's transaction."""
    SuppressionChange.objects.create(
        address=address,
        address_key=address.lower(),
        stream=settings.POSTMARK_BROADCAST_STREAM,
        change=change,
    )


def supersede() -> None:
    """Mark the changes that a later one of the same address replaces."""
    _pending().filter(_later()).update(state=SuppressionChange.State.SUPERSEDED, done_at=Now())


def load_pending(stream: str, change: Change, *, most: int) -> list[SuppressionChange]:
    """Load the oldest pending changes of a kind, at most one for each address."""
    pending = _pending().filter(~_later(), stream=stream, change=change)
    return list(pending.order_by("id")[:most])


def settle(results: Mapping[int, str]) -> None:
    """Record results: change → the provider's reason for refusing it, empty if done."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE suppression_change
            SET state = CASE WHEN answer = '' THEN 'done' ELSE 'refused' END,
                refusal_reason = answer, done_at = clock_timestamp()
            FROM unnest(%s::bigint[], %s::text[]) AS result (change_id, answer)
            WHERE id = change_id AND state = 'waiting'
            """,
            [list(results), list(results.values())],
        )


def load_pending_streams() -> list[str]:
    """The streams with pending changes."""
    return list(_pending().order_by("stream").values_list("stream", flat=True).distinct())


def was_requested_by_us(cursor: CursorWrapper, event: AddressSuppressed) -> bool:
    """Whether we had asked for this suppression, and had not lifted it before it happened."""
    cursor.execute(
        """
        SELECT EXISTS (
            SELECT FROM suppression_change AS asked
            WHERE address_key = %(key)s AND stream = %(stream)s AND change = 'suppress'
              AND requested_at <= %(at)s::timestamptz + %(apart)s * interval '1 s'
              AND NOT EXISTS (
                SELECT FROM suppression_change AS lifted
                WHERE lifted.address_key = asked.address_key AND lifted.stream = asked.stream
                  AND lifted.id > asked.id AND lifted.change = 'reactivate'
                  AND lifted.state = 'done'
                  AND lifted.done_at < %(at)s::timestamptz - %(apart)s * interval '1 s'))
        """,
        {
            "key": event.address_key,
            "stream": event.stream,
            "at": event.at,
            "apart": MAX_CLOCK_SKEW_S,
        },
    )
    return bool(cursor.fetchone()[0])


def load_suppression_changes(address: str) -> Sequence[SuppressionChange]:
    """Load the changes of an address, the latest first."""
    return list(SuppressionChange.objects.filter(address_key=address.lower()).order_by("-id"))


def delete_changes(address: str) -> None:
    """Delete the changes of an address whose reader is erased; pending ones are not sent."""
    SuppressionChange.objects.filter(address_key=address.lower()).delete()

"""The latest known entry of each address on the provider's suppression lists."""

from collections.abc import Sequence

from django.db.backends.utils import CursorWrapper

from delivery.models import ProviderSuppression
from delivery.provider.events import AddressReactivated, AddressSuppressed


def save_latest(cursor: CursorWrapper, event: AddressSuppressed | AddressReactivated) -> None:
    """Save an entry unless a later entry of the address is known.

    If a suppression and a reactivation have the same time, the suppression is kept.
    """
    refuses = isinstance(event, AddressSuppressed)
    reason, origin = (
        (event.reason, event.origin) if isinstance(event, AddressSuppressed) else ("", "")
    )
    cursor.execute(
        """
        INSERT INTO provider_suppression AS held (address_key, stream, refuses, reason, origin, at)
        VALUES (%s, %s, %s, %s, %s, %s)
        ON CONFLICT (address_key, stream) DO UPDATE
        SET refuses = excluded.refuses, reason = excluded.reason, origin = excluded.origin,
            at = excluded.at
        WHERE (excluded.at, excluded.refuses, excluded.reason, excluded.origin)
              > (held.at, held.refuses, held.reason, held.origin)
        """,
        [event.address_key, event.stream, refuses, reason, origin, event.at],
    )


def save_lifted(cursor: CursorWrapper, changes: Sequence[int]) -> None:
    """Save that the provider accepted these changes and lifted the entries.

    The provider's webhooks about the changes may be lost, so save the changes here. An entry stays
    if it is later than the request to lift it. An erased address has no entry.
    """
    cursor.execute(
        """
        UPDATE provider_suppression AS held
        SET refuses = false, reason = '', origin = '', at = requested_at
        FROM suppression_change AS lifted
        WHERE lifted.id = ANY(%s) AND state = 'done' AND refuses AND held.at <= requested_at
          AND held.address_key = lifted.address_key AND held.stream = lifted.stream
        """,
        [list(changes)],
    )


def filter_changed(stream: str, events: Sequence[AddressSuppressed]) -> list[AddressSuppressed]:
    """Return the entries that differ from the known entries, in order."""
    keys = [event.address_key for event in events]
    rows = ProviderSuppression.objects.filter(stream=stream, refuses=True, address_key__in=keys)
    known = set(rows.values_list("address_key", "reason", "origin", "at"))
    return [
        event
        for event in events
        if (event.address_key, event.reason, event.origin, event.at) not in known
    ]

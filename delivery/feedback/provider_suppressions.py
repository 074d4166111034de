"""The latest known entry of each address on the provider's suppression lists."""

from collections.abc import Sequence

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.postmark.provider_events import AddressReactivated, AddressSuppressed


def save_latest(cursor: CursorWrapper, event: AddressSuppressed | AddressReactivated) -> None:
    """Save an entry unless a later one is known. Of two at one time the suppression stays."""
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


def filter_changed(stream: str, events: Sequence[AddressSuppressed]) -> list[AddressSuppressed]:
    """Return the entries that differ from what is known, in order."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT number FROM unnest(%s::text[], %s::text[], %s::text[], %s::timestamptz[])
                              WITH ORDINALITY AS entry (address_key, reason, origin, at, number)
            WHERE NOT EXISTS (
                SELECT FROM provider_suppression AS held
                WHERE held.address_key = entry.address_key AND held.stream = %s AND held.refuses
                  AND (held.reason, held.origin, held.at) = (entry.reason, entry.origin, entry.at))
            ORDER BY number
            """,
            [
                [event.address_key for event in events],
                [event.reason for event in events],
                [event.origin for event in events],
                [event.at for event in events],
                stream,
            ],
        )
        return [events[row[0] - 1] for row in cursor.fetchall()]

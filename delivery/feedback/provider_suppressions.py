"""Keeps the last that was told about an address's place on the provider's suppression list."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.models import ProviderSuppression
from delivery.postmark.provider_events import Reactivated, Suppressed


def save_latest(cursor: CursorWrapper, fact: Suppressed | Reactivated) -> None:
    """
    Keep what was told, if nothing later was. Of two words of one moment the refusal stays, so that
    the order in which they are told makes no difference.
    """
    refuses = isinstance(fact, Suppressed)
    reason, origin = (fact.reason, fact.origin) if isinstance(fact, Suppressed) else ("", "")
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
        [fact.address_key, fact.stream, refuses, reason, origin, fact.at],
    )


def load_provider_suppressions(address: str) -> Sequence[ProviderSuppression]:
    """What the provider's lists say of an address, a stream each; empty if nothing was told."""
    return list(ProviderSuppression.objects.filter(address_key=address.lower()).order_by("stream"))


def forget(address: str) -> None:
    """Keep nothing of it any more: the person is erased."""
    ProviderSuppression.objects.filter(address_key=address.lower()).delete()


def filter_changed(stream: str, told: Sequence[Suppressed]) -> list[Suppressed]:
    """Those of an address list that say something else than was told before, in their order."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT place FROM unnest(%s::text[], %s::text[], %s::text[], %s::timestamptz[])
                              WITH ORDINALITY AS entry (address_key, reason, origin, at, place)
            WHERE NOT EXISTS (
                SELECT FROM provider_suppression AS held
                WHERE held.address_key = entry.address_key AND held.stream = %s AND held.refuses
                  AND (held.reason, held.origin, held.at) = (entry.reason, entry.origin, entry.at))
            ORDER BY place
            """,
            [
                [fact.address_key for fact in told],
                [fact.reason for fact in told],
                [fact.origin for fact in told],
                [fact.at for fact in told],
                stream,
            ],
        )
        return [told[row[0] - 1] for row in cursor.fetchall()]

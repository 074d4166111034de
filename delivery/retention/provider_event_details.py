"""What is kept of the provider's events: how long, and for the person they are about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection

from delivery.retention.batched_delete import OldRows


def applied_events(days: float) -> OldRows:
    """
    The events that were applied and came longer ago than so many days.

    What was set aside stays until a person has looked.
    """
    return OldRows("provider_event", ["id"], "received_at", days, "applied_at IS NOT NULL")


def load_events_about(address: str) -> list[dict[str, Any]]:
    """What was told about an address, as it came, oldest first: for the person it is about."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT received_at, kind, body FROM provider_event WHERE address_key = %s ORDER BY id",
            [address.lower()],
        )
        return [
            {"received_at": at, "kind": kind, "body": bytes(body).decode(errors="replace")}
            for at, kind, body in cursor.fetchall()
        ]


def forget(addresses: Iterable[str]) -> None:
    """
    Delete what was told about these addresses, applied or not.

    Whoever is applying one of them holds it and waits for its reader. It is not waited for: they
    find that the reader is gone, and drop it themselves.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM provider_event WHERE id IN (
                SELECT id FROM provider_event WHERE address_key = ANY(%s) FOR UPDATE SKIP LOCKED)
            """,
            [[address.lower() for address in addresses]],
        )

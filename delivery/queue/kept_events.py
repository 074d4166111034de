"""What is kept of the provider's events: how long, and for the person they are about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection


def prune_applied(*, older_than_days: float, at_a_time: int = 10_000) -> int:
    """
    Delete events that were applied and came longer ago than so many days; how many went.

    What was set aside stays until a person has looked. A piece at a time, so that no transaction
    is long.
    """
    gone = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                """
                DELETE FROM provider_event WHERE id IN (
                    SELECT id FROM provider_event
                    WHERE applied_at IS NOT NULL
                      AND received_at < clock_timestamp() - make_interval(secs => %s)
                    ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
                """,
                [older_than_days * 86400, at_a_time],
            )
            deleted = int(cursor.rowcount)
        gone += deleted
        if deleted < at_a_time:
            return gone


def events_about(address: str) -> list[dict[str, Any]]:
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

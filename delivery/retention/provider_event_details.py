"""How long provider events are kept, and those about one address."""

from collections.abc import Iterable
from typing import Any

from django.db import connection

from delivery.models import ProviderEvent
from delivery.retention.batched_delete import OldRows


def applied_events(days: float) -> OldRows:
    """The applied events that are older than `days`. Failed ones stay."""
    return OldRows("provider_event", ["id"], "received_at", days, "applied_at IS NOT NULL")


def load_events_about(address: str) -> list[dict[str, Any]]:
    """Load the events about an address as they came, oldest first."""
    rows = ProviderEvent.objects.filter(address_key=address.lower()).order_by("id")
    return [
        row | {"body": bytes(row["body"]).decode(errors="replace")}
        for row in rows.values("received_at", "kind", "body")
    ]


def delete_events_about(addresses: Iterable[str]) -> None:
    """Delete the events about these addresses, except one that is being applied: that deletes
    itself."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM provider_event WHERE id IN (
                SELECT id FROM provider_event WHERE address_key = ANY(%s) FOR UPDATE SKIP LOCKED)
            """,
            [[address.lower() for address in addresses]],
        )

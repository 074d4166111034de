"""The readers who get an issue."""

from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from delivery.interface import without_nested_loops
from delivery.reader_fields import FIELD_NAMES
from subscribers.models import Subscriber, Suppression


class Audience(QuerySet[Subscriber]):
    """Readers who get an issue; `count` uses hash joins, as publishing does."""

    def count(self) -> int:
        with (
            transaction.atomic(savepoint=False),
            connection.cursor() as cursor,
            without_nested_loops(cursor),
        ):
            return super().count()


def confirmed() -> QuerySet[Subscriber, tuple[Any, ...]]:
    """Select confirmed, unsuppressed readers as unordered (id, email, *reader fields)."""
    suppressed = Suppression.objects.filter(address_key=OuterRef("email_key"), lifted_at=None)
    return (
        Audience(Subscriber)
        .filter(~Exists(suppressed), state=Subscriber.State.CONFIRMED)
        .order_by()
        .values_list("id", "email", *FIELD_NAMES)
    )

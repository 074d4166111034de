"""Who an issue goes to: the only place that says which readers are an audience."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef

from subscribers.models import Subscriber, Suppression

if TYPE_CHECKING:
    from django.db.models import QuerySet


def confirmed() -> QuerySet[Subscriber, tuple[int, str, str]]:
    """
    Every reader who is confirmed and not suppressed, as rows of exactly (id, email, name).

    Unordered and unevaluated: publishing numbers them inside one `INSERT … SELECT`.
    """
    suppressed = Suppression.objects.filter(address_key=OuterRef("email_key"), lifted_at=None)
    return (
        Subscriber.objects.filter(~Exists(suppressed), state=Subscriber.State.CONFIRMED)
        .order_by()
        .values_list("id", "email", "name")
    )

"""Leaving the list: the only place that marks a reader as having left."""

from __future__ import annotations

from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from subscribers.models import Subscriber


def leave(subscriber_id: int) -> None:
    """
    Record that this reader has left, once, by the database's clock; takes effect at once.

    One guarded statement, so a second call changes nothing and two at once cannot differ. A
    bounced or complained reader keeps that state, and their wish is recorded all the same. Nobody
    by this id: nothing happens, for then nobody is on the list.
    """
    Subscriber.objects.filter(id=subscriber_id, unsubscribed_at=None).update(
        state=Case(
            When(
                Q(state__in=[Subscriber.State.PENDING, Subscriber.State.CONFIRMED]),
                then=Value(Subscriber.State.UNSUBSCRIBED),
            ),
            default=F("state"),
        ),
        unsubscribed_at=Now(),
    )

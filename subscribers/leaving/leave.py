"""Leaving the list: the only place that marks a reader as having left."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from delivery.interface import queue_suppression_change
from subscribers.consent import consent_ledger
from subscribers.models import Subscriber
from subscribers.models.consent_record import Act, How

ON_THE_LIST = (Subscriber.State.PENDING, Subscriber.State.CONFIRMED, Subscriber.State.BOUNCED)


def leave(subscriber_id: int, how: How = How.LINK, *, network: str = "", detail: str = "") -> bool:
    """
    Record that this reader leaves, by the database's clock; it takes effect at once.

    True the first time: then the ledger has a line more, of the way `how` and the `network` it came
    from, and the provider is asked to refuse the address too. Nothing changes for somebody who has
    left already, and two who press at once cannot differ. Who complained keeps that state, and
    their wish is recorded all the same. Nobody by this id: nobody is on the list.
    """
    with transaction.atomic():
        left = Subscriber.objects.filter(id=subscriber_id, unsubscribed_at=None).update(
            state=Case(
                When(Q(state__in=ON_THE_LIST), then=Value(Subscriber.State.UNSUBSCRIBED)),
                default=F("state"),
            ),
            unsubscribed_at=Now(),
        )
        if not left:
            return False
        consent_ledger.record(subscriber_id, Act.LEFT, how, network=network, detail=detail)
        address = Subscriber.objects.values_list("email", flat=True).get(id=subscriber_id)
        queue_suppression_change(address, "suppress")
        return True

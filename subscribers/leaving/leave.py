"""Unsubscribe a reader."""

from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from delivery.interface import count_unsubscribed, queue_suppression_change
from subscribers.consent.consent_log import record_consent
from subscribers.models import Subscriber
from subscribers.models.consent_record import Act, How

ON_THE_LIST = (Subscriber.State.PENDING, Subscriber.State.CONFIRMED, Subscriber.State.BOUNCED)


def leave(subscriber_id: int, how: How = How.LINK, *, network: str = "", detail: str = "") -> bool:
    """Unsubscribe a reader, and ask the provider to suppress the address.

    Returns False if the reader had already left.
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
        record_consent(subscriber_id, Act.LEFT, how, network=network, detail=detail)
        if how != How.OPERATOR:
            count_unsubscribed(subscriber_id)
        address = Subscriber.objects.values_list("email", flat=True).get(id=subscriber_id)
        queue_suppression_change(address, "suppress")
        return True

"""The audience of an edition: everyone, nobody, or those reached or missed before."""

import uuid
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from delivery.interface import enqueue
from delivery.models import Delivery, Edition, Evidence
from delivery.models.delivery import Outcome
from subscribers.confirmed_readers import confirmed
from subscribers.models import Subscriber

EVERYONE, REACHED = Edition.GoesTo.EVERYONE, Edition.GoesTo.REACHED
UNREACHED, NOBODY = Edition.GoesTo.UNREACHED, Edition.GoesTo.NOBODY


def select_audience(
    issue: uuid.UUID, version: int, goes_to: str
) -> QuerySet[Subscriber, tuple[Any, ...]]:
    """Return the readers of a version as lazy rows of (id, email, *fields)."""
    if goes_to == EVERYONE:
        return confirmed()
    if goes_to == NOBODY:
        return confirmed().none()
    theirs = {"issue_id": issue, "version__lt": version, "recipient_id": OuterRef("id")}
    copies = Delivery.objects.filter(**theirs)
    if goes_to == REACHED:
        return confirmed().filter(Exists(copies.filter(outcome=Outcome.SENT)))
    may_have_left = (
        Q(outcome__in=[Outcome.SENT, Outcome.UNKNOWN])
        | Q(sent_at__isnull=False)
        | Q(provider_message_id__isnull=False)
    )
    return confirmed().filter(
        ~Exists(copies.filter(may_have_left)), ~Exists(Evidence.objects.filter(**theirs))
    )


def enqueue_audience(edition: Edition) -> None:
    """Enqueue the deliveries of an edition that begins now."""
    if edition.goes_to != NOBODY:
        audience = select_audience(edition.issue_id, edition.version, edition.goes_to)
        enqueue(edition, audience, batch_size=settings.DELIVERY_BATCH_SIZE)

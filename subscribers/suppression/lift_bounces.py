"""Lift suppressions that the provider lifts, and bounces that an author lifts.

Neither the provider nor an author can lift a complaint or an unsubscribe. Triggers forbid such
lifts (docs/decisions/0047-lifting-a-bounce.md).
"""

from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from delivery.interface import AddressReactivated, queue_suppression_change, was_lifted_for_mail
from delivery.models import ProviderSuppression, SuppressionChange
from delivery.retention.anonymise import delete_provider_data
from subscribers.consent.consent_log import record_consent
from subscribers.data_requests.erase import erased_among
from subscribers.models import ConsentRecord, Subscriber, Suppression
from subscribers.models.consent_record import Act, How

State = Subscriber.State
Origin, Reason, LiftedHow = Suppression.Origin, Suppression.Reason, Suppression.LiftedHow

# Lifting a suppression undoes earlier acts of these kinds.
LIFTABLE = (Act.BOUNCED, Act.BLOCKED)
# Whether Homing asked the provider to lift an entry of its list after the entry was made.
_ASKED = Exists(
    SuppressionChange.objects.filter(
        address_key=OuterRef("address_key"),
        stream=OuterRef("stream"),
        change="reactivate",
        requested_at__gt=OuterRef("at"),
    ).exclude(state=SuppressionChange.State.REFUSED)
)
# Entries of the provider's list that the provider never lifts.
_PERMANENT = Q(reason="SpamComplaint") | Q(reason="ManualSuppression", origin="Recipient")


def lift_reactivated(event: AddressReactivated) -> None:
    """Lift the provider's own suppression, in the caller's transaction.

    The suppression stays if a later report exists, or if the provider still refuses the address on
    a stream.
    """
    at, key = event.at, event.address_key
    assert at is not None  # noqa: S101 -- delivery sets the time of every event
    reader = Subscriber.objects.select_for_update(no_key=True).filter(email_key=key).first()
    if reader is None and erased_among([key]):
        delete_provider_data(key)
        return
    is_foreign = event.stream not in ("", *_streams())
    if event.is_our_own or is_foreign or _refusals(key, event.stream).exists():
        return
    if reader is not None and _records(reader).filter(act__in=LIFTABLE, at__gt=at).exists():
        return
    held = Suppression.objects.filter(
        Q(reported_at=None) | Q(reported_at__lt=at),
        address_key=key,
        origin=Origin.PROVIDER,
        reason__in=(Reason.BOUNCE, Reason.MANUAL),
        lifted_at=None,
        at__lt=at,
    )
    if held.update(lifted_at=at, lifted_by=None, lifted_how=LiftedHow.PROVIDER) and reader:
        record_consent(reader.pk, Act.LIFTED, How.PROVIDER, at=at)
        _restore(reader)


def was_lifted_since(event_stream: str, key: str, reader: Subscriber | None, at: datetime) -> bool:
    """Return whether a bounce or block at the time `at` was lifted later."""
    if reader is not None and (lifted := last_lifting(reader)) and lifted.at >= at:
        return True
    words = ProviderSuppression.objects.filter(address_key=key, stream=event_stream)
    word = words.filter(refuses=False, at__gt=at).first()
    if word is None:
        return False
    return not was_lifted_for_mail(AddressReactivated(address=key, at=word.at, stream=event_stream))


def last_lifting(reader: Subscriber) -> ConsentRecord | None:
    """Return the latest record of a lifted suppression of this reader."""
    return _records(reader).filter(act=Act.LIFTED).order_by("-id").first()


def can_lift_bounce(reader: Subscriber) -> bool:
    """Return whether an author may lift a bounce of this reader now."""
    if reader.state not in (State.PENDING, State.CONFIRMED, State.BOUNCED):
        return False
    refused = _refusals(reader.email_key)
    held = Suppression.objects.filter(address_key=reader.email_key, lifted_at=None).first()
    if held is not None and (held.origin == Origin.OPERATOR or held.reason != Reason.BOUNCE):
        return False
    if refused.filter(_PERMANENT).exists():
        return False
    has_bounced = held is not None or reader.state == State.BOUNCED
    return has_bounced or refused.filter(~_ASKED, reason="HardBounce").exists()


def lift_bounce(subscriber_id: int, reason: str) -> bool:
    """Lift a bounce of this reader, and ask the provider to lift it too.

    `reason` is recorded. The reader returns to the state before the bounce. Returns False if there
    is no bounce to lift.
    """
    with transaction.atomic():
        reader = Subscriber.objects.select_for_update().filter(id=subscriber_id).first()
        if reader is None or not can_lift_bounce(reader):
            return False
        record_consent(reader.pk, Act.LIFTED, How.OPERATOR, detail=reason)
        held = Suppression.objects.filter(address_key=reader.email_key, lifted_at=None)
        held.update(lifted_at=Now(), lifted_by=None, lifted_how=LiftedHow.AUTHOR)
        _restore(reader)
        # Ask for every stream: the provider has a list for each, and we may not know all lists that
        # have the address, because a webhook may be lost.
        for stream in _streams():
            queue_suppression_change(reader.email, "reactivate", stream=stream)
        return True


def _restore(reader: Subscriber) -> None:
    """Return a bounced reader to the state before the bounce.

    Call this after the lifting is recorded.
    """
    if reader.state == State.BOUNCED:
        state = State.CONFIRMED if reader.confirmed_at is not None else State.PENDING
        Subscriber.objects.filter(pk=reader.pk).update(state=state)


def _records(reader: Subscriber) -> QuerySet[ConsentRecord]:
    return ConsentRecord.objects.filter(subscriber=reader)


def _refusals(key: str, *more_streams: str) -> QuerySet[ProviderSuppression]:
    streams = (*_streams(), *more_streams)
    return ProviderSuppression.objects.filter(address_key=key, stream__in=streams, refuses=True)


def _streams() -> list[str]:
    both = (settings.BROADCAST_STREAM, settings.TRANSACTIONAL_STREAM)
    return list(dict.fromkeys(both))

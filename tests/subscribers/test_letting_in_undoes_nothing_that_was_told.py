"""An operator's word is taken back alone: what the provider told meanwhile stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from delivery.models import SuppressionChange
from delivery.told import Bounced, Suppressed
from subscribers import consent, shutting_out
from subscribers.models import Subscriber, Suppression
from subscribers.models.consent_record import Act, How
from subscribers.readers import RegisteredReaders
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def ann() -> Subscriber:
    return SubscriberFactory(email="ann@example.net")


def tell(kind: str, *, at: datetime = AT) -> None:
    RegisteredReaders().told(
        [Bounced(address="ann@example.net", at=at, bounce=kind, kind=kind, inactive=False)]
    )


def opt_in(reader: Subscriber) -> datetime:
    """They confirm themselves, which an operator's word stands above."""
    consent.record(reader.pk, Act.ASKED, How.FORM, request=1)
    record = consent.record(reader.pk, Act.CONFIRMED, How.LINK, request=1)
    now = timezone.now()
    Subscriber.objects.filter(pk=reader.pk).update(
        state="confirmed", opt_in=record, confirmed_at=now, unsubscribed_at=None
    )
    return now


def standing() -> tuple[str, str, bool]:
    """Why the address is shut out, by whom, and whether it is so still."""
    entry = Suppression.objects.get()
    return entry.reason, entry.origin, entry.lifted_at is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("HardBounce", "bounce"), ("Unsubscribe", "unsubscribe"), ("SpamComplaint", "complaint")],
)
def test_what_is_told_of_an_address_that_is_shut_out_stands_once_it_is_let_in(
    ann: Subscriber, kind: str, reason: str
) -> None:
    assert shutting_out.shut_out(ann.pk)
    tell(kind)
    assert standing() == ("manual", "operator", True)
    assert shutting_out.let_in(ann.pk)
    assert standing() == (reason, "provider", True)
    assert RegisteredReaders().shut_out(["ann@example.net"]) == {"ann@example.net"}
    assert not SuppressionChange.objects.filter(change="reactivate").exists()
    assert not shutting_out.let_in(ann.pk)


@pytest.mark.parametrize("is_shut_out_first", [True, False])
def test_of_several_the_gravest_stands(ann: Subscriber, is_shut_out_first: bool) -> None:
    if not is_shut_out_first:
        tell("HardBounce")
    assert shutting_out.shut_out(ann.pk)
    tell("SpamComplaint")
    tell("HardBounce")
    assert shutting_out.let_in(ann.pk)
    assert standing() == ("complaint", "provider", True)


def test_a_block_made_at_the_provider_is_lifted_too(ann: Subscriber) -> None:
    assert shutting_out.shut_out(ann.pk)
    told = Suppressed(
        address="ann@example.net", at=AT, reason="ManualSuppression", origin="Customer"
    )
    RegisteredReaders().told([told])
    assert shutting_out.let_in(ann.pk)
    assert standing() == ("manual", "operator", False)
    assert SuppressionChange.objects.filter(change="reactivate").exists()


@pytest.mark.parametrize("is_shut_out_first", [True, False])
def test_what_their_own_opt_in_answered_does_not_come_back(
    ann: Subscriber, is_shut_out_first: bool
) -> None:
    if is_shut_out_first:
        assert shutting_out.shut_out(ann.pk)
        tell("SpamComplaint")
    else:
        tell("SpamComplaint")
        assert shutting_out.shut_out(ann.pk)
    opt_in(ann)
    assert standing()[1:] == ("operator", True)

    assert shutting_out.let_in(ann.pk)

    assert standing()[1:] == ("operator", False)


def test_what_came_after_their_own_opt_in_stands(ann: Subscriber) -> None:
    tell("HardBounce")
    assert shutting_out.shut_out(ann.pk)
    tell("SpamComplaint", at=opt_in(ann) + timedelta(seconds=1))
    assert shutting_out.let_in(ann.pk)
    assert standing() == ("complaint", "provider", True)

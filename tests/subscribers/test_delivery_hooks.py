"""Who gets an issue: at its publication, during sending, and after refusals."""

import pytest

from delivery.hooks import reader_hooks
from subscribers import confirmed_readers
from subscribers.delivery_hooks import RegisteredReaders
from subscribers.models import ConsentRecord, Subscriber
from tests.subscribers.conftest import not_to_mail
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory

pytestmark = pytest.mark.django_db

mark_refused = RegisteredReaders().mark_refused


def test_unsubscribed_is_withdrawn_and_bounced_or_complained_is_suppressed() -> None:
    assert isinstance(reader_hooks.registered(), RegisteredReaders)
    there = {state: SubscriberFactory(state=state).pk for state in Subscriber.State.values}
    assert not_to_mail(list(there.values()), "newsletter") == {
        there["unsubscribed"]: "withdrawn",
        there["bounced"]: "suppressed",
        there["complained"]: "suppressed",
    }


@pytest.mark.parametrize(
    ("state", "answer"),
    [("confirmed", "suppressed"), ("pending", "suppressed"), ("unsubscribed", "withdrawn")],
)
def test_a_suppressed_address_is_suppressed_unless_unsubscribed(state: str, answer: str) -> None:
    reader = SubscriberFactory(email="Ada@example.org", state=state)
    SuppressionFactory(address_key="ada@example.org")
    assert not_to_mail([reader.pk], "newsletter") == {reader.pk: answer}


@pytest.mark.parametrize("kind", ["newsletter", "confirmation", "record"])
def test_an_unknown_recipient_is_withdrawn(kind: str) -> None:
    assert not_to_mail([987_654_321], kind) == {987_654_321: "withdrawn"}


@pytest.mark.parametrize("kind", ["newsletter", "welcome"])
def test_readers_who_may_be_mailed_are_not_listed(kind: str) -> None:
    mailable = SubscriberFactory.create_batch(5)
    left = SubscriberFactory(state="unsubscribed")
    everybody = [reader.pk for reader in [*mailable, left]]
    assert not_to_mail(everybody, kind) == {left.pk: "withdrawn"}


def test_a_refused_address_is_recorded_as_bounced_once() -> None:
    refused, other = SubscriberFactory(), SubscriberFactory()

    for _ in range(2):
        mark_refused([refused.pk], "newsletter")

    states = dict(Subscriber.objects.values_list("id", "state"))
    assert (states[refused.pk], states[other.pk]) == ("bounced", "confirmed")
    lines = ConsentRecord.objects.filter(subscriber=refused)
    assert list(lines.values_list("act", "how", "detail")) == [
        ("bounced", "provider", "refused_on_sending")
    ]


@pytest.mark.parametrize("state", ["unsubscribed", "complained", "bounced"])
def test_a_refused_address_changes_only_mailable_readers(state: str) -> None:
    reader = SubscriberFactory(state=state)
    mark_refused([reader.pk], "newsletter")
    reader.refresh_from_db()
    assert reader.state == state


@pytest.mark.parametrize("kind", ["confirmation", "record"])
class TestMailOnRequest:
    """Transactional mail also goes to readers who are gone."""

    def test_transactional_mail_goes_to_readers_who_request_it(self, kind: str) -> None:
        for state in Subscriber.State.values:
            reader = SubscriberFactory(state=state)
            SuppressionFactory(address_key=reader.email, origin="provider")
            assert not_to_mail([reader.pk], kind) == {}, state

    def test_a_blocked_address_gets_no_transactional_mail(self, kind: str) -> None:
        reader = SubscriberFactory(email="ada@example.org", state="pending")
        SuppressionFactory(address_key="ada@example.org", origin="operator", reason="manual")
        assert not_to_mail([reader.pk], kind) == {reader.pk: "suppressed"}

    def test_a_refused_transactional_mail_keeps_confirmed_readers(self, kind: str) -> None:
        confirmed, pending = SubscriberFactory(), SubscriberFactory(state="pending")
        mark_refused([confirmed.pk, pending.pk], kind)
        states = dict(Subscriber.objects.values_list("id", "state"))
        assert (states[confirmed.pk], states[pending.pk]) == ("confirmed", "bounced")


def test_the_audience_contains_every_confirmed_reader() -> None:
    ada = SubscriberFactory(email="Ada@example.org", name="Ada")
    bob = SubscriberFactory(email="bob@example.org", name="")
    assert set(confirmed_readers.confirmed()) == {
        (ada.pk, "Ada@example.org", "Ada"),
        (bob.pk, "bob@example.org", ""),
    }


@pytest.mark.parametrize("state", sorted(set(Subscriber.State.values) - {"confirmed"}))
def test_only_confirmed_readers_are_in_the_audience(state: str) -> None:
    SubscriberFactory(state=state)
    assert list(confirmed_readers.confirmed()) == []


def test_the_audience_excludes_suppressed_addresses() -> None:
    SubscriberFactory(email="Ada@example.org")
    bob = SubscriberFactory(email="bob@example.org")
    SuppressionFactory(address_key="ada@example.org")
    assert [row[0] for row in confirmed_readers.confirmed()] == [bob.pk]

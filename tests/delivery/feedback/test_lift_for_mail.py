"""If Postmark refuses a requested mail, Homing lifts the suppression and resends."""

from typing import Any

import pytest

from delivery.feedback.lift_for_mail import resend_lifted
from delivery.feedback.send_suppression_changes import push_suppression_changes
from delivery.models import (
    Delivery,
    Edition,
    PeriodicTask,
    ProviderSuppression,
    SuppressionChange,
)
from delivery.queue.enqueue_transactional import requeue_inactive
from delivery.queue.short_transaction import short_transaction
from delivery.reports.audit import find_violations
from delivery.rules.delivery_key import DeliveryKey
from subscribers.data_requests.erase import erase
from subscribers.data_requests.request_data import answer_requests
from subscribers.desk.add_or_edit_reader import add_reader
from subscribers.models import Subscriber, Suppression
from tests.delivery.edition_factory import Newsroom, never
from tests.delivery.webhook_events import post
from tests.publishing.author_browser import WindowOf
from tests.subscribers.importing.import_browser import someone
from tests.subscribers.signup_browser import ADA, press, sign_up, visitor

OUTBOUND = "outbound"
Refusal = tuple[str, str]
LIFTABLE = [("HardBounce", "Recipient"), ("ManualSuppression", "Customer")]
PERMANENT = [("SpamComplaint", "Recipient"), ("ManualSuppression", "Recipient")]


@pytest.fixture(autouse=True)
def _no_limits_of_requests(settings: Any) -> None:
    settings.SIGN_UPS_PER_HOUR = settings.SIGN_UP_MAILS_PER_DAY = 1000


def suppress(newsroom: Newsroom, refusal: Refusal = LIFTABLE[0], address: str = ADA) -> None:
    newsroom.sandbox.events.suppress(OUTBOUND, address, *refusal)


def work(newsroom: Newsroom) -> None:
    """Do what workers do: send, lift, send again."""
    newsroom.deliver_all()
    PeriodicTask.objects.update(due_at="2000-01-01T00:00:00Z")
    push_suppression_changes(never)
    resend_lifted()
    newsroom.deliver_all()
    assert find_violations(list(Edition.objects.values_list("id", flat=True))) == []


def outcomes() -> list[str]:
    return list(Delivery.objects.order_by("version").values_list("outcome", flat=True))


def liftings() -> list[str]:
    changes = SuppressionChange.objects.filter(stream=OUTBOUND, change="reactivate")
    return list(changes.order_by("id").values_list("state", flat=True))


@pytest.mark.parametrize("refusal", LIFTABLE, ids="-".join)
def test_a_sign_up_after_a_bounce_gets_its_mail(newsroom: Newsroom, refusal: Refusal) -> None:
    suppress(newsroom, refusal)
    assert "Check your inbox" in sign_up().text
    newsroom.deliver_all()
    assert outcomes() == ["suppressed"]

    work(newsroom)
    assert (outcomes(), liftings()) == (["sent"], ["done"])
    ada = Subscriber.objects.get()
    press(ada)
    ada.refresh_from_db()
    assert ada.state == "confirmed"
    sent = Delivery.objects.get()
    key = DeliveryKey(sent.issue_id, sent.version, sent.recipient_id)
    # A second worker saw the same answer at the same time. This worker finds nothing left to do.
    with short_transaction() as cursor:
        assert not requeue_inactive(cursor, key)
    resend_lifted()
    assert not newsroom.step()


def test_a_data_link_is_sent_after_a_bounce(newsroom: Newsroom) -> None:
    newsroom.confirm(1, addresses={0: ADA})
    suppress(newsroom)
    assert visitor().post("/unsubscribe/", {"email": ADA}).status_code == 200
    answer_requests()
    work(newsroom)
    assert (outcomes(), liftings()) == (["sent"], ["done"])


@pytest.mark.parametrize("refusal", PERMANENT, ids="-".join)
def test_a_complaint_or_unsubscribe_is_never_lifted(newsroom: Newsroom, refusal: Refusal) -> None:
    suppress(newsroom, refusal)
    sign_up()
    work(newsroom)
    assert (outcomes(), liftings()) == (["suppressed"], ["refused"])
    assert newsroom.sandbox.suppressions.of(OUTBOUND)[ADA].reason == refusal[0]
    # The provider's second refusal is final for this mail.
    work(newsroom)
    assert outcomes() == ["suppressed"]


@pytest.mark.parametrize("refusal", PERMANENT, ids="-".join)
def test_the_provider_is_not_asked_to_lift_a_known_complaint(
    newsroom: Newsroom, refusal: Refusal
) -> None:
    suppress(newsroom, refusal)
    reason, origin = refusal
    event = {"RecordType": "SubscriptionChange", "SuppressSending": True, "Recipient": ADA}
    event |= {"MessageStream": OUTBOUND, "SuppressionReason": reason, "Origin": origin}
    assert post({**event, "ChangedAt": "2026-01-01T00:00:00Z"}) == 200
    sign_up()
    work(newsroom)
    assert (outcomes(), liftings()) == (["suppressed"], [])


def test_an_address_is_lifted_only_a_few_times_a_month(newsroom: Newsroom, settings: Any) -> None:
    settings.BOUNCE_LIFTS_PER_MONTH = 2
    for _ in range(4):
        suppress(newsroom)
        sign_up()
        work(newsroom)
    assert outcomes() == ["sent", "sent", "suppressed", "suppressed"]
    SuppressionChange.objects.update(requested_at="2020-01-01T00:00:00Z")
    sign_up()
    work(newsroom)
    assert outcomes()[-1] == "sent"


def test_a_mail_that_is_refused_again_is_not_lifted_again(newsroom: Newsroom) -> None:
    # The sandbox refuses this address even after its suppression was lifted.
    sign_up("inactive@bounce.example")
    for _ in range(3):
        work(newsroom)
    assert (outcomes(), liftings()) == (["suppressed"], ["done"])


def test_a_mail_that_no_reader_requested_lifts_nothing(newsroom: Newsroom) -> None:
    suppress(newsroom)
    added = add_reader(ADA, {}, by=newsroom.author, source=Subscriber.Source.DESK)
    assert added.result == "added"
    work(newsroom)
    assert (outcomes(), liftings()) == (["suppressed"], [])


@pytest.mark.parametrize("fault", ["refuse_429", "accept_then_close"])
def test_a_lifting_without_an_answer_is_repeated(newsroom: Newsroom, fault: str) -> None:
    suppress(newsroom)
    sign_up()
    newsroom.sandbox.set_fault(fault, path="/message-streams/*/suppressions/delete", calls=1)
    work(newsroom)
    assert (outcomes(), liftings()) == (["suppressed"], ["waiting"])
    work(newsroom)
    assert (outcomes(), liftings()) == (["sent"], ["done"])


def test_two_refused_mails_are_both_sent_after_one_lifting(newsroom: Newsroom) -> None:
    suppress(newsroom)
    sign_up()
    newsroom.deliver_all()
    sign_up()
    work(newsroom)
    assert (outcomes(), liftings()) == (["sent", "sent"], ["superseded", "done"])


def test_an_erased_reader_is_neither_lifted_nor_mailed(newsroom: Newsroom) -> None:
    suppress(newsroom)
    sign_up()
    newsroom.deliver_all()
    push_suppression_changes(never)
    assert erase(Subscriber.objects.get().pk)
    resend_lifted()
    newsroom.deliver_all()
    assert not SuppressionChange.objects.exists()
    assert newsroom.sandbox.summary()["accepted"] == 0


def test_our_own_lifting_does_not_lift_the_suppression_of_letters(newsroom: Newsroom) -> None:
    bounce = {"RecordType": "SubscriptionChange", "Recipient": ADA, "Origin": "Recipient"}
    bounce |= {"MessageStream": "broadcast", "SuppressionReason": "HardBounce"}
    assert post({**bounce, "SuppressSending": True, "ChangedAt": "2026-01-01T00:00:00Z"}) == 200
    # Delete the stored entries of Postmark's lists. Later only the transactional stream sends one.
    ProviderSuppression.objects.all().delete()
    suppress(newsroom)
    sign_up()
    work(newsroom)
    assert liftings() == ["done"]
    lifted = {**bounce, "SuppressSending": False, "SuppressionReason": None}
    lifted |= {"MessageStream": OUTBOUND}
    assert post({**lifted, "ChangedAt": "2999-01-01T00:00:00Z"}) == 200
    assert Suppression.objects.get().lifted_at is None


@pytest.mark.parametrize(
    ("refusal", "is_known", "words"),
    [
        (PERMANENT[0], True, "its owner marked a letter as spam"),
        (PERMANENT[1], True, "its owner unsubscribed on the mail provider’s page"),
        (PERMANENT[0], False, "the mail provider suppresses it and does not say why"),
    ],
)
def test_the_desk_shows_who_cannot_be_mailed_and_why(
    newsroom: Newsroom, refusal: Refusal, is_known: bool, words: str
) -> None:
    suppress(newsroom, refusal)
    sign_up()
    work(newsroom)
    ada = Subscriber.objects.get()
    if is_known:
        word = {"address_key": ADA, "stream": OUTBOUND, "at": "2026-03-01T00:00:00Z"}
        reason, origin = refusal
        ProviderSuppression.objects.create(refuses=True, reason=reason, origin=origin, **word)
    window = WindowOf(someone("edith", "manage_readers"))
    page = window.get(f"/admin/newsletters/readers/{ada.pk}/").words
    assert f"Cannot be mailed: {words}." in page
    assert "Not confirmed yet." in page
    # The page also shows that Postmark refused to lift the suppression.
    assert "It did not remove the address from its suppression list" in page

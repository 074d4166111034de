"""The counts of delivered copies and unsubscribed readers by edition."""

from datetime import timedelta

from django.db.models import F
from django.test import Client

from delivery.feedback.count_results import MANY_ROWS, merge_results
from delivery.models import Delivery, Edition, EditionResult
from delivery.queue import edition_control
from delivery.reports.load_edition_results import load_results
from publishing.content.edition_content import Content
from subscribers.leaving.leave import leave
from subscribers.links.unsubscribe_token import token_for
from subscribers.models.consent_record import How
from tests.delivery.edition_factory import Newsroom, copies_of
from tests.delivery.feedback.test_bounces_and_complaints import tell
from tests.publishing.publish_with import publish


def sent(newsroom: Newsroom, readers: int = 0) -> Edition:
    edition = newsroom.publish(readers=readers, key=f"key-{Edition.objects.count()}")
    newsroom.deliver_all()
    return edition


def unsubscribe(copy: Delivery) -> None:
    assert Client().post(f"/unsubscribe/{token_for(copy.recipient_id)}/").status_code == 200


def counted(edition: Edition, name: str) -> int:
    return int(getattr(load_results(edition.pk)[0], name))


def test_repeated_deliveries_and_returns_count_once(newsroom: Newsroom) -> None:
    edition = sent(newsroom, readers=3)
    one, two, three = copies_of(edition)
    for minutes in (2, 1, 3):
        at = one.sent_at + timedelta(minutes=minutes)
        tell(one, "Delivery", at)
        tell(two, "Delivery", at)
        tell(two, "SpamComplaint", at)
        tell(three, "Bounce", at)
    results = load_results(edition.pk)[0]
    assert (results.sent, results.delivered) == (3, 2)
    assert (results.bounced, results.complained, results.unsubscribed) == (1, 1, 0)


def test_reader_who_unsubscribes_counts_for_the_last_issue(newsroom: Newsroom) -> None:
    first, last = sent(newsroom, readers=2), sent(newsroom)
    for _ in range(2):
        unsubscribe(copies_of(last)[0])
    assert (counted(first, "unsubscribed"), counted(last, "unsubscribed")) == (0, 1)


def test_late_or_operators_unsubscribes_count_for_no_issue(newsroom: Newsroom) -> None:
    edition = sent(newsroom, readers=2)
    late, other = copies_of(edition)
    leave(other.recipient_id, How.OPERATOR)
    Delivery.objects.update(sent_at=F("sent_at") - timedelta(days=7, minutes=1))
    unsubscribe(late)
    assert counted(edition, "unsubscribed") == 0


def test_readers_who_unsubscribe_at_the_provider_count(newsroom: Newsroom) -> None:
    edition = sent(newsroom, readers=2)
    copy = copies_of(edition)[0]
    at = copy.sent_at + timedelta(minutes=1)
    more = {"Origin": "Recipient", "SuppressionReason": "ManualSuppression"}
    for _ in range(2):
        tell(copy, "SubscriptionChange", at, SuppressSending=True, **more)
        at += timedelta(minutes=1)
    assert counted(edition, "unsubscribed") == 1


def test_an_earlier_issue_counts_once_and_only_if_sent(newsroom: Newsroom) -> None:
    first = sent(newsroom, readers=2)
    corrected = Content.from_input(title="Swifts", html="<p>Corrected</p>")
    publish(newsroom.author.pk, "2", corrected, hold_s=0, issue=first.issue_id, version=2)
    newsroom.deliver_all()
    called_back = newsroom.publish(readers=0, key="called back", hold_s=60)
    edition_control.call_back(called_back.pk)
    assert [one.edition for one in load_results(sent(newsroom).pk)][1:] == [first.pk]


def test_merged_results_keep_their_sums(newsroom: Newsroom) -> None:
    first, last = sent(newsroom, readers=1), sent(newsroom)
    rows = [EditionResult(edition=first, delivered=1) for _ in range(MANY_ROWS + 2)]
    EditionResult.objects.bulk_create([*rows, EditionResult(edition=last, unsubscribed=2)])
    merge_results()
    assert EditionResult.objects.count() == 2
    assert [(one.delivered, one.unsubscribed) for one in load_results(last.pk)] == [
        (0, 2),
        (MANY_ROWS + 2, 0),
    ]

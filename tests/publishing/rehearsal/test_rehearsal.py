"""A rehearsal checks every message and sends nothing."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from delivery.interface import Judged
from delivery.models import Batch, Delivery, Edition, Newsletter
from delivery.rules.reason import Reason, ReasonCode
from publishing.editions.audience import select_audience
from publishing.models import Draft, Rehearsal
from publishing.rehearsal import rehearse
from publishing.rehearsal.rehearse import RehearsalReport
from subscribers.data_requests.erase import erase
from subscribers.models import Subscriber
from tests.publishing.author_browser import WindowOf
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)


def never() -> bool:
    return False


@pytest.fixture
def draft(author: Any, three_readers: list[Subscriber]) -> Draft:
    return Draft.objects.create(
        title="The patience of herons", letter="Hello {{ name|you }}", created_by=author
    )


def page_of(draft: Draft) -> str:
    return f"/admin/newsletters/drafts/{draft.pk}/rehearsal/"


def test_every_message_is_checked_and_only_the_report_written(
    window: WindowOf, draft: Draft, provider: Any
) -> None:
    Newsletter.objects.update_or_create(pk=1, defaults={"tagline": "Letters about birds"})
    window.post(page_of(draft))
    assert "waiting for a worker" in window.get(page_of(draft)).words
    assert rehearse.run_next_rehearsal(never)
    assert not rehearse.run_next_rehearsal(never)
    page = window.get(page_of(draft)).words
    assert "The messages of 3 readers pass Postmark’s rules." in page
    assert (
        "The messages of 3 readers pass"
        in window.get(page_of(draft).replace("rehearsal", "check")).words
    )
    assert not any(table.objects.exists() for table in (Edition, Batch, Delivery, LogEntry))
    assert provider.sandbox.outbox.copies(lambda size: size > 0) == {}


def test_a_reader_whose_message_is_refused_is_named(window: WindowOf, draft: Draft) -> None:
    odd = SubscriberFactory(email="o?d@posthouse.example")
    window.post(page_of(draft))
    rehearse.run_next_rehearsal(never)
    page = window.get(page_of(draft)).words
    assert "Postmark would refuse 1 message." in page
    assert "o?d@posthouse.example" in page
    erase(odd.pk)
    assert "o?d@" not in window.get(page_of(draft)).words


def test_the_audience_is_that_of_one_moment(draft: Draft) -> None:
    audience = select_audience(draft.pk, 1, "everyone")
    with rehearse._frozen(audience, 2) as batches:
        first = next(batches)
        Subscriber.objects.update(state=Subscriber.State.BOUNCED)
        SubscriberFactory()
        assert len(first) + sum(map(len, batches)) == 3


def test_two_requests_make_one_rehearsal(window: WindowOf, author: Any, draft: Draft) -> None:
    window.post(page_of(draft))
    window.post(page_of(draft))
    other = Draft.objects.create(title="Another", letter="Hello", created_by=author)
    window.post(page_of(other))
    assert "Another issue is being rehearsed." in window.get(page_of(other)).words
    assert Rehearsal.objects.count() == 1


def test_a_cancelled_rehearsal_ends_without_a_report(window: WindowOf, draft: Draft) -> None:
    window.post(page_of(draft))

    def cancel() -> bool:
        window.post(page_of(draft), cancel="1")
        return False

    assert rehearse.run_next_rehearsal(cancel)
    assert (Rehearsal.objects.get().state, Rehearsal.objects.get().report) == ("cancelled", {})


def test_a_report_of_an_earlier_text_says_so(window: WindowOf, draft: Draft) -> None:
    window.post(page_of(draft))
    rehearse.run_next_rehearsal(never)
    Draft.objects.filter(pk=draft.pk).update(letter="Other words")
    assert "were changed after this rehearsal" in window.get(page_of(draft)).words
    assert (
        "messages of 3 readers"
        not in window.get(page_of(draft).replace("rehearsal", "check")).words
    )


def test_a_draft_changed_before_its_turn_is_not_rehearsed(window: WindowOf, draft: Draft) -> None:
    window.post(page_of(draft))
    Draft.objects.filter(pk=draft.pk).update(title="Another title")
    rehearse.run_next_rehearsal(never)
    assert Rehearsal.objects.get().state == "cancelled"


def test_a_published_draft_is_not_rehearsed(
    window: WindowOf, draft: Draft, edition: Edition
) -> None:
    Draft.objects.filter(pk=draft.pk).update(edition=edition)
    window.post(page_of(draft))
    assert "Nothing was rehearsed." in window.get(page_of(draft)).words


def test_sizes_and_refusals_add_up() -> None:
    report, refusal = RehearsalReport(), Reason.of(ReasonCode.INACTIVE_RECIPIENT)
    report.add_call(b"12345")
    for recipient, size in enumerate((10, 30, 20, 200_000)):
        report.add_message(recipient, Judged(size, 0, refusal if recipient == 1 else None))
    found = report.as_json()
    assert [found[name] for name in ("smallest", "median", "largest", "clipped", "bytes")] == [
        10,
        20,
        200_000,
        1,
        5,
    ]
    assert [named["reader"] for named in found["named"]] == [1]
    assert [number for _, number in found["refused"]] == [1]

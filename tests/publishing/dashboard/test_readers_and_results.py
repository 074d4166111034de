"""The desk's charts of readers and of copies that were not sent."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from delivery.models import Batch, Edition
from delivery.queue import edition_control
from publishing.editions.audience import TagChoice
from publishing.editions.start_scheduled import start_due
from publishing.models import Draft
from subscribers.models import Subscriber, Tag
from tests.publishing.author_browser import Page, WindowOf
from tests.publishing.dashboard.desk_page import DESK
from tests.publishing.edition_states import in_doubt, sent
from tests.publishing.schedule_issue import make_edition_due, tomorrow
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)


def figures_on(page: Page) -> str:
    figures = page.html.partition("Show the figures</summary><p>")[2].partition("</p>")[0]
    return re.sub(r"\d+ [A-Z]\w+ ", "", figures)


def test_the_chart_counts_confirmed_readers_whoever_got_the_issue(
    window: WindowOf,
    author: Any,
    publish_one: Callable[..., Edition],
    three_readers: list[Subscriber],
) -> None:
    founders = Tag.objects.create(name="Founders")
    Subscriber.objects.filter(name="Ada").update(tags=[founders.pk])
    first = publish_one("Herons")
    some = publish_one("Swifts", tags=TagChoice(((founders.pk, "Founders"),)))
    assert some.audience == 1
    sent(first, "Ada")
    called_back = publish_one("Terns", hold_s=60)
    edition_control.call_back(called_back.pk)
    SubscriberFactory()
    # The chart has no point for a correction, or for an issue without readers.
    publish_one("Herons, corrected", issue=first.issue_id, version=2)
    publish_one("For the archive", goes_to="nobody")
    assert figures_on(window.get(DESK)) == "3; 3; now 4."
    waits = Draft.objects.create(title="Gulls", letter="Gulls.")
    sheet = f"/admin/newsletters/drafts/{waits.pk}/check/"
    last = r"1 more confirmed reader than at the last issue on \d+ \w+ \d{4}"
    assert re.search(last, window.get(sheet).words)

    # If an edition did not store the number of confirmed readers, the chart and the check sheet
    # leave this edition out.
    Edition.objects.update(confirmed_readers=None)
    assert "3; now 4." in figures_on(window.get(DESK))
    assert "than at the last" not in window.get(sheet).words


def test_a_scheduled_issue_counts_readers_when_it_starts(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    waits = publish_one("Herons", at=tomorrow())
    assert 'aria-label="Confirmed readers' not in window.get(DESK).html
    SubscriberFactory()
    make_edition_due(waits)
    assert start_due()
    SubscriberFactory()
    page = window.get(DESK)
    assert re.search(r'aria-label="Confirmed readers: 4 on [^"]*, 5 now"', page.html)


def strips_on(page: Page) -> str:
    return page.html.partition("Not sent, by issue")[2].partition("New readers by source")[0]


def test_unsent_copies_are_drawn_for_ended_issues(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    over, going = publish_one("Herons"), publish_one("Swifts")
    Batch.objects.filter(edition=over).update(
        state="done", waiting=0, sent=1, suppressed=1, withdrawn=1
    )
    strips = strips_on(window.get(DESK))
    assert "suppressed 1, withdrawn 1, failed 0" in strips
    assert strips.count('<svg class="bar"') == 1
    assert "2 of 3" in strips
    assert going.title not in strips


def test_copies_withdrawn_by_a_cancel_are_drawn(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    stopped, called_back = publish_one("Herons"), publish_one("Swifts", hold_s=60)
    sent(stopped, "Ada")
    edition_control.cancel(stopped.pk)
    edition_control.call_back(called_back.pk)
    strips = strips_on(window.get(DESK))
    assert re.findall(r'<span class="of">(\w+)', strips) == ["Herons"]
    assert "2 of 3" in strips
    assert "All other copies of these issues were sent once." in strips


def test_unconfirmed_copies_of_a_closed_issue_are_not_sent(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    closed = publish_one("Herons")
    in_doubt(closed, "Ada")
    sent(closed)
    Batch.objects.filter(edition=closed).update(state="parked")
    Edition.objects.filter(pk=closed.pk).update(control="closed")
    assert "1 copy of these issues is unconfirmed." in strips_on(window.get(DESK))

"""A rescheduled issue is sent once, at its new time."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from delivery.models import DatabaseIdentity, Edition
from delivery.queue import scheduled_editions
from delivery.reconcile import database_identity
from delivery.rules.scheduled_time import ScheduledTime
from postmark_sandbox.server import SandboxServer
from publishing.actions.edition_actions import CannotDoThatError, reschedule
from publishing.editions.start_scheduled import start_due, start_now
from tests.delivery.edition_factory import Newsroom
from tests.publishing.author_browser import WindowOf, address
from tests.publishing.schedule_issue import (
    LISBON,
    log_of,
    make_edition_due,
    schedule,
    scheduled_time_in_zone,
    tomorrow,
)
from tests.publishing.second_connection import at_once


@pytest.fixture
def newsroom(transactional_db: None) -> Newsroom:
    return Newsroom()


@pytest.fixture
def waits(author: Any, newsroom: Newsroom) -> Edition:
    newsroom.author = author
    newsroom.confirm(2)
    return schedule(newsroom)


def later(hours: int = 24, zone: str = "UTC") -> ScheduledTime:
    return scheduled_time_in_zone(tomorrow("UTC").utc + timedelta(hours=hours), zone)


def moved_to(at: ScheduledTime) -> dict[str, str]:
    return {"at": at.local, "zone": at.zone}


def form_of(window: WindowOf, edition: Edition) -> dict[str, str]:
    return window.get(address(edition, "reschedule/")).form_with("at").fields


def time_of(edition: Edition) -> tuple[Any, str, str]:
    edition.refresh_from_db()
    assert edition.scheduled_for == edition.published_at == edition.held_until
    return edition.scheduled_for, edition.scheduled_local, edition.scheduled_zone


def test_an_author_changes_time_and_zone_from_the_progress_page(
    window: WindowOf, waits: Edition
) -> None:
    there = address(waits, "reschedule/?version=1")
    assert f'href="{there}"' in window.get(address(waits)).html
    shown, at = form_of(window, waits), later(zone="Asia/Kolkata")
    assert (shown["at"], waits.scheduled_zone) == (waits.scheduled_local, LISBON)

    answer = window.post(there, **shown | moved_to(at))

    assert answer.status == 303
    page = window.get(answer.answer["Location"])
    assert f"The issue goes out on {at.words}." in page.words
    assert time_of(waits) == (at.utc, at.local, at.zone)
    [_, line] = log_of(waits)
    assert f" for {at.words}. Its time before was " in line
    assert f"Edith Marlow rescheduled version 1 for {at.words}." in page.words


def test_a_second_click_changes_nothing_more(window: WindowOf, waits: Edition) -> None:
    at = later()
    posted = form_of(window, waits) | moved_to(at)
    tabs = [window.another() for _ in range(3)]
    at_once(*[lambda tab=tab: tab.post(address(waits, "reschedule/"), **posted) for tab in tabs])
    for tab in tabs:
        assert f"The issue goes out on {at.words}." in tab.get(address(waits)).words
    assert len(log_of(waits)) == 2


def test_a_tab_with_an_older_time_is_refused(window: WindowOf, waits: Edition) -> None:
    shown = form_of(window, waits)
    first = later(24)  # Compute the time once, because the minute may end before a second call.
    window.post(address(waits, "reschedule/"), **shown | moved_to(first))
    answer = window.post(address(waits, "reschedule/"), **shown | moved_to(later(48)))
    text = window.get(answer.answer["Location"]).words
    assert f"Its time was changed in the meantime: it goes out on {first.words}." in text
    assert time_of(waits)[0] == first.utc


def test_impossible_time_is_refused_next_to_its_field(window: WindowOf, waits: Edition) -> None:
    before = time_of(waits)
    posted = form_of(window, waits) | moved_to(later()) | {"at": "2020-01-01T07:00"}
    page = window.post(address(waits, "reschedule/"), **posted)
    assert (page.status, time_of(waits)) == (200, before)
    assert "is in the past" in page.words
    assert 'aria-invalid="true"' in page.html


def test_a_moved_issue_goes_out_once_at_its_new_time(
    newsroom: Newsroom, provider: SandboxServer, waits: Edition
) -> None:
    assert scheduled_editions.move(waits.pk, later(), before=waits.scheduled_for)
    assert not start_due()
    make_edition_due(waits)
    assert start_due()
    newsroom.deliver_all()
    assert newsroom.outcomes(waits) == ["sent", "sent"]


def test_started_and_due_issues_keep_their_time(newsroom: Newsroom, waits: Edition) -> None:
    before = waits.scheduled_for
    assert not scheduled_editions.move(waits.pk, later(-48), before=before)
    assert start_now(waits.pk) == 2
    assert not scheduled_editions.move(waits.pk, later(), before=before)
    with pytest.raises(CannotDoThatError, match="the time of a scheduled issue only"):
        reschedule(waits, later(), record=lambda _: None)

    due = schedule(newsroom, title="Martins")
    make_edition_due(due)
    due.refresh_from_db()
    assert not scheduled_editions.move(due.pk, later(), before=due.scheduled_for)
    with pytest.raises(CannotDoThatError, match="its time has come"):
        reschedule(due, later(), record=lambda _: None)


def test_a_scheduled_issue_cannot_be_moved_after_a_restore(waits: Edition) -> None:
    database_identity.check_identity()
    DatabaseIdentity.objects.update(database=1)
    assert not scheduled_editions.move(waits.pk, later(), before=waits.scheduled_for)
    database_identity.check_identity()
    assert not scheduled_editions.move(waits.pk, later(), before=waits.scheduled_for)
    with pytest.raises(CannotDoThatError, match="restored from a backup"):
        reschedule(waits, later(), record=lambda _: None)


def test_changing_the_time_needs_the_permission_to_publish(new_author: Any, waits: Edition) -> None:
    writer = WindowOf(new_author("wanda", "write_draft"))
    assert "Change the time" not in writer.get(address(waits)).words
    assert writer.get(address(waits, "reschedule/")).status == 403
    assert writer.post(address(waits, "reschedule/"), **moved_to(later())).status == 403
    assert waits.scheduled_for > timezone.now()

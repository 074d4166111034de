"""The check sheet in a real browser: its findings, and its links."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from delivery.models import Edition, Newsletter
from publishing.content.draft_content import MARKDOWN, DraftFields
from publishing.models import Draft
from tests.browser.author_session import (
    ACCEPTED,
    ask,
    edition,
    late,
    look_now,
    publish_to,
    sheet,
    succeeded,
)
from tests.browser.conftest import HELD_IN_BATCHES, READERS
from tests.browser.pages.desk_pages import FAULTY, WELL, at, begun, link_was_opened
from tests.publishing.schedule_issue import tomorrow

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def draft(author: Any) -> Draft:
    """Create a draft whose link was already checked, so no link is looked up."""
    link_was_opened()
    return begun(author, WELL)


def test_sheet_reports_links_and_the_publishing_note_ends(desk, draft, site):
    desk.goto(at(draft, "check/"))
    expect(desk.get_by_text("1 link answers 404")).to_be_visible()
    publish_to(desk, READERS)
    assert str(Edition.objects.get().issue_id) in desk.url

    site.deliver()
    look_now(desk)

    succeeded(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_hidden()


def test_past_time_is_refused_on_the_sheet(desk, draft):
    desk.goto(at(draft, "check/"))
    expect(desk.get_by_role("button", name="Schedule…")).to_have_count(0)
    field, error = desk.get_by_label("Date and time"), desk.locator("#when-at-error")
    field.fill("2001-01-01T07:00")
    expect(desk.get_by_label("Schedule", exact=True)).to_be_checked()

    desk.get_by_role("button", name="Schedule…").click()

    expect(error).to_contain_text("is in the past")
    expect(error).to_be_in_viewport()
    expect(field).to_be_focused()

    field.fill("")
    desk.get_by_role("button", name="Schedule…").click()

    expect(field).to_be_focused()
    assert not Edition.objects.exists()


def test_typed_time_selects_schedule_until_now_is_chosen(desk, draft):
    moment = tomorrow("UTC")
    with late(desk, "when", at(draft, "check/")):
        field = desk.get_by_label("Date and time")
        field.fill(moment.local)
    expect(desk.get_by_label("Schedule", exact=True)).to_be_checked()
    desk.get_by_role("button", name="Schedule…").click()
    expect(desk.get_by_role("dialog")).to_contain_text(moment.words)
    desk.keyboard.press("Escape")

    desk.get_by_label("Now", exact=False).check()
    expect(field).to_have_value("")
    desk.get_by_label("Schedule", exact=True).check()
    expect(field).to_have_value(moment.local)
    desk.get_by_label("Now", exact=False).check()
    publish_to(desk, READERS)

    expect(desk.get_by_role("status")).to_have_text("Sending")
    assert Edition.objects.get().control == "running"


def test_send_now_with_a_time_is_refused_without_scripts(new_page, author, readers, draft):
    page = new_page(author, java_script_enabled=False)
    page.goto(at(draft, "check/"))
    page.get_by_label("Date and time").fill(tomorrow("UTC").local)
    ask(page, READERS)

    expect(page.locator("#when-at-error")).to_contain_text("Choose “Schedule”, or clear the time")
    assert not Edition.objects.exists()
    page.get_by_label("Schedule", exact=True).check()
    page.get_by_role("button", name="Schedule…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Schedule it for {READERS} readers?")


def test_text_part_finding_opens_its_panel(desk, author):
    words = DraftFields(
        title="Swifts",
        format=MARKDOWN,
        letter="They have gone.",
        text="Dear {{ nmae }}, they have gone.",
    )
    desk.goto(at(begun(author, words), "check/"))

    desk.get_by_role("link", name="Fix in the plain text").first.click()

    expect(desk.get_by_label("Plain text (edited)")).to_be_focused()
    desk.evaluate("location.hash = 'id_letter'")
    expect(sheet(desk)).to_be_focused()


def test_unknown_findings_are_looked_up_once_on_the_page(desk, author):
    draft = begun(author, FAULTY)
    looks = []
    desk.on("request", lambda request: looks.append(request.url) if "looks" in request.url else 0)
    desk.goto(at(draft, "check/"))
    expect(desk.locator("#why")).to_contain_text("1 problem to fix:")
    expect(desk.locator(".lede")).to_contain_text(re.compile("Must fix: 1."))

    expect(desk.get_by_text("have not been opened yet")).to_have_count(0)
    expect(desk.locator(".busy:visible")).to_have_count(0)
    assert len(looks) == 1
    assert looks[0].endswith(f"{draft.pk}/looks/")


# On any day, at least one of these zones puts its clocks back within the next 360 days, and at
# least one puts them forward.
ZONES = ("Europe/Lisbon", "America/New_York")


def night_of_a_change(*, clocks_go_back: bool) -> tuple[str, datetime]:
    """Return a zone, and a local time that its next clock change repeats or skips."""
    hour = timedelta(hours=1)
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + 48 * hour
    for zone in ZONES:
        there = ZoneInfo(zone)
        for hours in range(360 * 24):
            at = start + hours * hour
            before, after = (moment.astimezone(there).utcoffset() for moment in (at - hour, at))
            if before != after and (before > after) == clocks_go_back:
                # If clocks go back, the hour before the change is repeated. If clocks go
                # forward, the hour after the change is skipped.
                way = -1 if clocks_go_back else 1
                return zone, (at + before + way * hour / 2).replace(tzinfo=None)
    raise AssertionError("no clock changes within a year")


# Use a separate site, because a site caches the newsletter's zone for some seconds.
@HELD_IN_BATCHES
def test_times_near_a_clock_change_are_scheduled_correctly(new_page, author, readers, draft):
    zone, twice = night_of_a_change(clocks_go_back=True)
    other_zone, never = night_of_a_change(clocks_go_back=False)
    first, second = (
        twice.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for fold in (0, 1)
    )
    Newsletter.objects.get_current()
    Newsletter.objects.update(time_zone=zone)
    page = new_page(author, timezone_id="Asia/Kathmandu")
    page.goto(at(draft, "check/"))
    expect(page.get_by_label("Time zone")).to_have_value(zone)
    hint = page.locator("#when-said")

    # The page and the server refuse a time that the clocks skip.
    page.get_by_label("Time zone").fill(other_zone)
    page.get_by_label("Date and time").fill(f"{never:%Y-%m-%dT%H:%M}")
    expect(page.get_by_label("Schedule", exact=True)).to_be_checked()
    expect(hint).to_contain_text(f"does not exist in {other_zone}, because the clocks there go")
    page.get_by_role("button", name="Schedule…").click()
    expect(page.locator("#when-at-error")).to_contain_text(f"does not exist in {other_zone}")
    assert not Edition.objects.exists()

    # If a time occurs twice, the page asks which is meant. The author chooses the later occurrence.
    page.get_by_label("Time zone").fill(zone)
    page.get_by_label("Date and time").fill(f"{twice:%Y-%m-%dT%H:%M}")
    expect(hint).to_contain_text(f"occurs twice in {zone}")
    page.get_by_role("button", name="Schedule…").click()
    expect(page.locator("#when-which-error")).to_contain_text(f"occurs twice in {zone}")
    assert not Edition.objects.exists()
    page.get_by_role("radio", name=re.compile("^The second")).check()
    expect(hint).to_contain_text(f"{twice:%H:%M} {zone} ({second:%H:%M} UTC)")

    # The dialog and the issue's page show the time in the chosen zone and in UTC, but not in the
    # browser's zone.
    page.get_by_role("button", name="Schedule…").click()
    dialog = page.get_by_role("dialog", name=f"Schedule it for {READERS} readers?")
    expect(dialog).to_contain_text(f"{twice:%H:%M} {zone} ({second:%H:%M} UTC)")
    dialog.get_by_role("button", name=f"Schedule for {READERS}").dblclick()
    expect(page.get_by_role("status")).to_have_text("Scheduled")
    expect(page.locator(".lede")).to_contain_text(
        f"{twice:%H:%M} {zone} ({second:%H:%M} UTC) to everyone confirmed by then"
    )
    stored = edition()
    assert (stored.scheduled_for, stored.scheduled_zone) == (second, zone)
    assert stored.scheduled_for != first
    assert stored.scheduled_local == f"{twice:%Y-%m-%dT%H:%M}"

"""An author elsewhere schedules for the night in which the newsletter's clocks change."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from delivery.models import Edition, Newsletter
from tests.browser.at_the_desk import WRITE, check, edition, is_saved, write
from tests.browser.conftest import READERS

pytestmark = pytest.mark.django_db(transaction=True)

# Of the two one at least is less than a year away, whatever day it is.
ZONES = ("Europe/Lisbon", "America/New_York")


def night_of_a_change(*, clocks_go_back: bool) -> tuple[str, datetime]:
    """A zone, and half an hour after the next time that its clocks change, as they went before."""
    hour = timedelta(hours=1)
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + 48 * hour
    for zone in ZONES:
        there = ZoneInfo(zone)
        for hours in range(360 * 24):
            at = start + hours * hour
            before, after = (moment.astimezone(there).utcoffset() for moment in (at - hour, at))
            if before != after and (before > after) == clocks_go_back:
                # Just before it, where that comes again; else just after it, where it never comes.
                way = -1 if clocks_go_back else 1
                return zone, (at + before + way * hour / 2).replace(tzinfo=None)
    raise AssertionError("no clock changes within a year")


# On a site of its own: a site remembers the newsletter's zone for some seconds.
@pytest.mark.parametrize("site_settings", [{"PUBLISH_HOLD_S": "600"}])
def test_the_night_of_a_change_is_scheduled_as_it_is_meant(new_page, author, readers):
    zone, twice = night_of_a_change(clocks_go_back=True)
    other_zone, never = night_of_a_change(clocks_go_back=False)
    first, second = (
        twice.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for fold in (0, 1)
    )
    Newsletter.objects.the_one()
    Newsletter.objects.update(time_zone=zone)
    page = new_page(author, timezone_id="Asia/Kathmandu")
    page.goto(WRITE)
    write(page)
    is_saved(page)
    check(page)
    expect(page.get_by_label("Time zone")).to_have_value(zone)
    said = page.locator("[data-when-said]")

    # A time that the clocks skip is refused, by the page while it is typed and by the server.
    page.get_by_label("Time zone").select_option(other_zone)
    page.get_by_label("Date and time").fill(f"{never:%Y-%m-%dT%H:%M}")
    expect(page.get_by_label("At a time")).to_be_checked()
    expect(said).to_have_text("This time does not exist there: the clocks go forward over it.")
    page.get_by_role("button", name="Schedule…").click()
    expect(page.locator("#when-at-error")).to_contain_text(f"does not exist in {other_zone}")
    assert not Edition.objects.exists()

    # One that comes twice is asked about: she means the second.
    page.get_by_label("Time zone").select_option(zone)
    page.get_by_label("Date and time").fill(f"{twice:%Y-%m-%dT%H:%M}")
    expect(said).to_contain_text("This time comes twice there")
    page.get_by_role("button", name="Schedule…").click()
    expect(page.locator("#when-which-error")).to_contain_text(f"comes twice in {zone}")
    assert not Edition.objects.exists()
    page.get_by_role("radio", name=re.compile("^The second")).check()
    expect(said).to_contain_text(f"{twice:%H:%M} {zone} ({second:%H:%M} UTC)")

    # The question and the page of the issue name both times, and neither that of her own clock.
    page.get_by_role("button", name="Schedule…").click()
    dialog = page.get_by_role("dialog", name=f"Schedule it for {READERS} readers?")
    expect(dialog).to_contain_text(f"{twice:%H:%M} {zone} ({second:%H:%M} UTC)")
    dialog.get_by_role("button", name=f"Schedule for {READERS}").dblclick()
    expect(page.get_by_role("status")).to_have_text("Scheduled")
    expect(page.locator(".lede")).to_contain_text(
        f"{twice:%H:%M} {zone} ({second:%H:%M} UTC), to everyone confirmed by then"
    )
    stored = edition()
    assert (stored.scheduled_for, stored.scheduled_zone) == (second, zone)
    assert stored.scheduled_for != first
    assert stored.scheduled_local == f"{twice:%Y-%m-%dT%H:%M}"

"""What changes by itself on an open page pushes nothing else about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from publishing.publish import publish
from publishing.scheduling import moment_of
from publishing.starting import start_due
from publishing.written import content_of
from tests.browser.at_the_desk import FORM, PATIENCE_MS, WRITE, is_saved, look_now, succeeded, write
from tests.browser.pages_of_the_desk import PLAIN
from tests.browser.web_site import WebSite
from tests.publishing.scheduling_desk import its_time_came

pytestmark = pytest.mark.django_db(transaction=True)

# A tenth is what the Core Web Vitals call good.
MOST_SHIFT = 0.02
COUNT = """() => {
  window.shifts = [];
  new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(entry => ({
    value: entry.value,
    state: document.querySelector("[data-text=state]")?.textContent,
    what: entry.sources.map(source => source.node?.outerHTML?.slice(0, 100) ?? ""),
  })))).observe({ type: "layout-shift", buffered: true });
}"""
# Entries come after the next frame.
SHIFTS = """() => new Promise(done => requestAnimationFrame(() => setTimeout(
  () => done(window.shifts.filter(({ value }) => value > 0)))))"""
PUSH = """() => {
  const high = document.createElement("div");
  high.style.height = "300px";
  document.body.prepend(high);
}"""


@pytest.fixture
def windows(new_page: Callable[..., Page], author: Any, readers: Any) -> list[Page]:
    """A wide window and a narrow one."""
    sizes = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})
    return [new_page(author, viewport=size) for size in sizes]


def come_to_watch(windows: list[Page], address: str) -> None:
    """Open a page in each window, and count what is pushed about from its first paint on."""
    for page in windows:
        page.goto(address)
        page.evaluate(COUNT)


def pushed_about(page: Page, *, but_for: str = "") -> list[dict[str, Any]]:
    """
    What was pushed about, if it was more than next to nothing.

    `but_for` is a state whose coming does not count on a narrow page: other buttons come with it,
    and take other room there.
    """
    is_narrow = page.evaluate("innerWidth < 700")
    found = [
        one
        for one in page.evaluate(SHIFTS)
        if not (is_narrow and but_for and one.get("state") == but_for)
    ]
    return found if sum(one["value"] for one in found) >= MOST_SHIFT else []


def nothing_was_pushed_about(windows: list[Page], *, but_for: str = "") -> None:
    """Look at all windows; what pushes the page from here on would have been noticed."""
    for page in windows:
        assert pushed_about(page, but_for=but_for) == []
        page.evaluate(PUSH)
        assert pushed_about(page)


def test_an_issue_is_watched_to_its_end_without_anything_moving(
    windows: list[Page], site: WebSite, author: Any
) -> None:
    edition = publish(author.pk, "key", content_of(PLAIN), hold_s=0).edition
    come_to_watch(windows, f"{FORM}{edition.issue_id}/")

    with site.worker(DELIVERY_RATE_PER_S=20.0):
        for page in windows:
            succeeded(page)

    edition.refresh_from_db()
    assert edition.control == "running"
    nothing_was_pushed_about(windows, but_for="Succeeded")


def test_a_scheduled_issue_starts_without_anything_moving(windows: list[Page], author: Any) -> None:
    tomorrow = moment_of(timezone.now() + timedelta(1), "Europe/Lisbon")
    edition = publish(author.pk, "key", content_of(PLAIN), hold_s=0, at=tomorrow).edition
    come_to_watch(windows, f"{FORM}{edition.issue_id}/")

    its_time_came(edition)
    assert start_due()

    for page in windows:
        look_now(page)
        expect(page.locator(".crumb")).to_contain_text("Published by", timeout=PATIENCE_MS)
        expect(page.locator("#list tbody tr")).not_to_have_count(0)
    nothing_was_pushed_about(windows, but_for="Sending")


def test_a_letter_is_written_saved_and_shown_without_anything_moving(windows: list[Page]) -> None:
    come_to_watch(windows, WRITE)
    for page in windows:
        write(page)
        is_saved(page)
        frame = page.frame_locator("[data-frames] iframe >> nth=0")
        expect(frame.get_by_text("they have gone.")).to_be_visible(timeout=PATIENCE_MS)

        page.get_by_label("Letter, in").press_sequentially(" For good.")
        expect(frame.get_by_text("For good.")).to_be_visible(timeout=PATIENCE_MS)
        is_saved(page)
    nothing_was_pushed_about(windows)

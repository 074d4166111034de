"""What changes by itself on an open page pushes nothing else about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from delivery.models import Edition
from publishing.publish import publish
from publishing.scheduling import moment_of
from publishing.starting import start_due
from publishing.written import content_of
from subscribers.models import Subscriber
from tests.browser.at_the_desk import PATIENCE_MS, WRITE, is_saved, write
from tests.browser.desk_of_readers import signed_in
from tests.browser.test_every_page_of_the_desk_is_for_everybody import PLAIN
from tests.browser.web_site import WebSite
from tests.publishing.scheduling_desk import its_time_came

pytestmark = pytest.mark.django_db(transaction=True)

# A tenth is what the Core Web Vitals call good.
MOST_SHIFT = 0.02
WINDOWS = pytest.mark.parametrize(
    "viewport", [{"width": 1280, "height": 800}, {"width": 390, "height": 844}]
)
COUNT = """() => {
  window.shifts = [];
  new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(entry => ({
    value: entry.value,
    state: document.querySelector("[data-text=state]")?.textContent,
    what: entry.sources.map(source => source.node?.outerHTML?.slice(0, 100) ?? ""),
  })))).observe({ type: "layout-shift", buffered: true });
}"""


def watch_the_layout(page: Page) -> None:
    """Count what is pushed about, from the first paint of this page on."""
    page.evaluate(COUNT)


def shifts(page: Page) -> list[dict[str, Any]]:
    """What was pushed about so far; also by what was typed, which must not move the rest either."""
    # Entries are told of after the next frame.
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return [one for one in page.evaluate("window.shifts") if one["value"] > 0]


def stood_still(page: Page, *, but_for: str = "") -> bool:
    """
    Whether next to nothing was pushed about; if not, what was is in the report of the test.

    `but_for` is a state whose coming does not count: other buttons come with it, and on a narrow
    page they take other room.
    """
    found = [one for one in shifts(page) if not but_for or one.get("state") != but_for]
    total = sum(one["value"] for one in found)
    print(total, found)
    return bool(total < MOST_SHIFT)


def test_what_is_pushed_about_is_counted(new_page: Callable[..., Page]) -> None:
    page = new_page()
    page.goto("/archive/")
    watch_the_layout(page)
    page.evaluate(
        """() => {
             const high = document.createElement("div");
             high.style.height = "300px";
             document.body.prepend(high);
           }"""
    )
    assert not stood_still(page)


def come_to_watch(page: Page, edition: Edition) -> None:
    """Open the progress page of an edition, and watch its layout from there on."""
    page.goto(f"/admin/newsletters/{edition.issue_id}/")
    watch_the_layout(page)


@WINDOWS
def test_an_issue_is_watched_to_its_end_without_anything_moving(
    new_page: Callable[..., Page],
    site: WebSite,
    author: Any,
    readers: list[Subscriber],
    viewport: dict[str, int],
) -> None:
    edition = publish(author.pk, "key", content_of(PLAIN), hold_s=0).edition
    page = signed_in(new_page(viewport=viewport), site, author)
    come_to_watch(page, edition)

    with site.worker(DELIVERY_RATE_PER_S="20"):
        expect(page.locator(".lede")).to_contain_text("Succeeded.", timeout=PATIENCE_MS)

    assert Edition.objects.get(pk=edition.pk).control == "running"
    is_narrow = viewport["width"] < 700
    assert stood_still(page, but_for="Succeeded" if is_narrow else "")


@WINDOWS
def test_a_scheduled_issue_starts_without_anything_moving(
    new_page: Callable[..., Page],
    site: WebSite,
    author: Any,
    readers: list[Subscriber],
    viewport: dict[str, int],
) -> None:
    tomorrow = moment_of(timezone.now() + timedelta(1), "Europe/Lisbon")
    edition = publish(author.pk, "key", content_of(PLAIN), hold_s=0, at=tomorrow).edition
    page = signed_in(new_page(viewport=viewport), site, author)
    come_to_watch(page, edition)

    its_time_came(edition)
    assert start_due()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    expect(page.locator(".crumb")).to_contain_text("Published by", timeout=PATIENCE_MS)
    expect(page.locator("#list tbody tr")).not_to_have_count(0)
    is_narrow = viewport["width"] < 700
    assert stood_still(page, but_for="Sending" if is_narrow else "")


@WINDOWS
def test_a_letter_is_written_saved_and_shown_without_anything_moving(
    new_page: Callable[..., Page],
    site: WebSite,
    author: Any,
    readers: list[Subscriber],
    viewport: dict[str, int],
) -> None:
    page = signed_in(new_page(viewport=viewport), site, author)
    page.goto(WRITE)
    watch_the_layout(page)
    write(page)
    is_saved(page)
    frame = page.frame_locator("[data-frames] iframe >> nth=0")
    expect(frame.get_by_text("they have gone.")).to_be_visible(timeout=PATIENCE_MS)

    page.get_by_label("Letter, in").press_sequentially(" For good.")
    expect(frame.get_by_text("For good.")).to_be_visible(timeout=PATIENCE_MS)
    is_saved(page)

    assert stood_still(page)

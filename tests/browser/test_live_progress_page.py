"""Open pages follow an issue in a real browser, and an author acts on them."""

import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.utils import timezone
from playwright.sync_api import Page, Response, expect

from delivery.models import Batch, Delivery, Edition
from delivery.queue.edition_control import send_now
from publishing.content.draft_content import build_content
from publishing.editions.start_scheduled import start_due
from subscribers.models import SubscriberImport
from tests.browser.author_session import (
    FORM,
    WRITE,
    do,
    is_saved,
    look_now,
    succeeded,
    write,
)
from tests.browser.conftest import READERS
from tests.browser.pages.accessibility import faults_found_by_axe
from tests.browser.pages.desk_pages import PLAIN
from tests.delivery.worker_steps import claim_next_batch
from tests.publishing.edition_states import sent
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import make_edition_due, scheduled_time_in_zone
from tests.subscribers.factories import SubscriberImportFactory

pytestmark = pytest.mark.django_db(transaction=True)

# The highest layout shift of a page. The Core Web Vitals call a shift of up to 0.1 “good”.
MOST_SHIFT = 0.02
VERSIONS = "[aria-labelledby=versions] li"
COUNT = """() => {
  window.shifts = [];
  new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(entry => ({
    value: entry.value,
    at: entry.startTime,
    state: document.getElementById("state")?.textContent,
    what: entry.sources.map(source => source.node?.outerHTML?.slice(0, 100) ?? ""),
  })))).observe({ type: "layout-shift", buffered: true });
}"""
# Return the layout shifts so far. The script causes one more shift, and waits until the browser has
# reported it.
SHIFTS = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  scrollTo(0, 0);
  await frame(); await frame();
  const now = performance.now();
  const high = document.createElement("div");
  high.style.height = "300px";
  document.body.prepend(high);
  for (let n = 0; !window.shifts.some(({ at }) => at > now); n++) {
    if (n > 600) throw new Error("a push is not counted");
    await frame();
  }
  return window.shifts.filter(({ at, value }) => at <= now && value > 0);
}"""


def published(author: Any, *, hold_s: float = 0, **named: Any) -> Edition:
    """Publish an edition to the readers, without a worker."""
    key = f"key {named.get('version', 1)}"
    return publish(author.pk, key, build_content(PLAIN), hold_s=hold_s, **named).edition


@pytest.fixture
def going(author, readers) -> Edition:
    """Publish an edition that is being sent."""
    return published(author)


@pytest.fixture
def held(author, readers) -> Edition:
    """Publish an edition that can still be called back."""
    return published(author, hold_s=600)


def watch(page: Page, edition: Edition | None) -> Page:
    """Open an issue's page or the composer, and mark it: a reload loses the mark."""
    page.goto(f"{FORM}{edition.issue_id}/" if edition else WRITE)
    page.evaluate("window.notLoadedAgain = true")
    return page


def hide(page: Page, *, hidden: bool) -> None:
    """Act as if another tab was opened: a headless window is always visible."""
    page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true})"
        "; document.dispatchEvent(new Event('visibilitychange')) }",
        hidden,
    )


def questions(page: Page) -> list[str]:
    """Collect the URLs of all later polls."""
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "seen=" in one.url else None)
    return asked


def pause_in(answer: Response) -> float:
    """Return the seconds after which the page polls again."""
    return float(re.search(r"load delay:([\d.]+)s", answer.text())[1])


@pytest.fixture
def windows(new_page: Callable[..., Page], author: Any, readers: Any) -> list[Page]:
    sizes = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})
    return [new_page(author, viewport=size, reduced_motion="no-preference") for size in sizes]


def come_to_watch(windows: list[Page], edition: Edition) -> None:
    """Open the issue's page in each window, and count its layout shifts."""
    for page in windows:
        watch(page, edition)
        page.evaluate(COUNT)


def nothing_moved(windows: list[Page], *, but_for: str = "") -> None:
    """Check that no page was reloaded and almost nothing on it moved.

    On a narrow page, shifts in the state `but_for` do not count, because this state has buttons of
    another size.
    """
    for page in windows:
        assert page.evaluate("window.notLoadedAgain")
        is_narrow = page.evaluate("innerWidth < 700")
        found = [
            one
            for one in page.evaluate(SHIFTS)
            if not (is_narrow and but_for and one.get("state") == but_for)
        ]
        assert sum(one["value"] for one in found) < MOST_SHIFT, found


def test_open_page_follows_to_the_end_without_moving(windows, going, site):
    come_to_watch(windows, going)
    for page in windows:
        expect(page.locator(".lede")).to_contain_text("No worker is running")
        expect(page.locator("#list tbody tr").filter(has_text="Waiting")).not_to_have_count(0)
    headings = [page.locator("h1").element_handle() for page in windows]

    with site.worker(DELIVERY_RATE_PER_S=20.0):
        for page, heading in zip(windows, headings, strict=True):
            succeeded(page, f"Succeeded. Postmark accepted {READERS} copies")
            expect(page.locator("#sent-total")).to_have_text(str(READERS))
            expect(page.locator("#counts [data-part=sent]")).to_have_attribute("width", "100.00%")
            expect(page.get_by_role("status")).to_have_text("Succeeded")
            assert page.title().startswith("Succeeded: ")
            rows = page.locator("#list tbody tr")
            expect(rows.filter(has_text="Waiting")).to_have_count(0)
            expect(rows.filter(has_text="Sent")).not_to_have_count(0)
            expect(page.locator("#older")).to_be_hidden()
            assert heading.evaluate("heading => heading.isConnected")
    nothing_moved(windows, but_for="Succeeded")


def what_is_shown(page: Page) -> str:
    """Return the page's text without the time at which its counts were read."""
    return re.sub(r"Updated \d\d:\d\d:\d\d", "", page.locator("main").inner_text())


def test_open_page_of_a_starting_issue_equals_a_fresh_one(windows, author):
    waits = published(
        author, hold_s=30, at=scheduled_time_in_zone(timezone.now() + timedelta(1), "UTC")
    )
    come_to_watch(windows, waits)
    for page in windows:
        expect(page.locator(".crumb")).to_contain_text("Version 1. Scheduled by Edith Marlow for ")
        expect(
            page.get_by_text("The list of readers is made when the issue goes out.")
        ).to_be_visible()
        page.locator(".crumb").get_by_role("link", name="Issues").focus()

    make_edition_due(waits)
    assert start_due()

    for page in windows:
        look_now(page)
        crumb = page.locator(".crumb")
        expect(crumb).to_contain_text("Version 1. Published by Edith Marlow, ")
        rows = page.locator("#list tbody tr")
        expect(rows.filter(has_text="Waiting")).not_to_have_count(0)
        expect(page.locator("#older")).to_be_hidden()
        expect(crumb.get_by_role("link", name="Issues")).to_be_focused()
    shown = [what_is_shown(page) for page in windows]
    # The table of outcomes replaces the number of readers, so everything below moves once.
    for page in windows:
        assert page.evaluate("window.notLoadedAgain")
        assert len({one["at"] for one in page.evaluate(SHIFTS) if one["value"] > MOST_SHIFT}) <= 1
        assert {one.get("state") for one in page.evaluate(SHIFTS)} <= {"Sending"}
    for page, before in zip(windows, shown, strict=True):
        page.reload()
        assert what_is_shown(page) == before


@pytest.mark.parametrize("is_at_work", [True, False])
def test_list_is_not_replaced_while_its_search_has_text(desk, held, site, is_at_work):
    watch(desk, held)
    search = desk.get_by_label("Find a reader")
    search.fill("ad")
    if not is_at_work:
        desk.locator("h1").focus()

    assert send_now(held.pk)
    site.deliver()
    look_now(desk)

    succeeded(desk)
    expect(
        desk.get_by_text("Some outcomes have changed since you opened this list.")
    ).to_be_visible()
    # The other parts of the page have been updated.
    expect(desk.get_by_text("The hold ended and")).to_be_visible()
    expect(search).to_have_value("ad")
    if is_at_work:
        expect(search).to_be_focused()
    desk.locator("#older").get_by_role("link", name="Refresh").click()
    expect(desk.locator("#list tbody tr").filter(has_text="Waiting")).to_have_count(0)


def test_hold_counts_down_and_is_announced_once_near_its_end(desk, held):
    desk.clock.install()
    watch(desk, held)
    clock = desk.get_by_role("timer")
    before = clock.inner_text()
    desk.clock.run_for(2000)
    expect(clock).not_to_have_text(before)
    assert re.fullmatch(r"\d+:\d\d", clock.inner_text())

    Edition.objects.filter(pk=held.pk).update(held_until=Now() + timedelta(seconds=60))
    with desk.expect_response(re.compile("seen=")):
        look_now(desk)
    expect(clock).to_have_text(re.compile("^0:"))
    # The page's clock may be ahead of the server's. So the page never counts below 5 seconds.
    desk.route(re.compile("seen="), lambda route: route.abort())
    desk.clock.run_for(60_000)
    expect(desk.get_by_role("status")).to_have_text("Held. 5 seconds left.")


def test_dialog_makes_page_inert_and_acts_once_on_double_click(desk, held):
    watch(desk, held)
    link = desk.get_by_role("link", name="Call back…", exact=True)
    link.focus()
    desk.keyboard.press("Enter")
    dialog = desk.get_by_role("dialog", name=f"Call back {READERS} copies?")
    expect(dialog.get_by_role("heading")).to_be_focused()
    assert faults_found_by_axe(desk) == []
    # Every tab stop is within the dialog or belongs to the browser.
    for _ in range(6):
        desk.keyboard.press("Tab")
        where = desk.evaluate(
            "document.activeElement.closest('dialog, main, header, body').tagName"
        )
        assert where in {"DIALOG", "BODY"}

    desk.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(link).to_be_focused()
    desk.keyboard.press("Enter")
    dialog.get_by_role("link", name="Not now").click()
    expect(dialog).to_have_count(0)
    assert Edition.objects.get(pk=held.pk).control == "running"
    assert "call-back" not in desk.url

    link.click()
    dialog.get_by_role("button", name="Call back").dblclick()
    expect(desk.locator(".lede")).to_contain_text("Called back. It was sent to nobody")
    expect(desk.get_by_text("The issue is a draft again, with all its content.")).to_be_visible()
    expect(desk.get_by_text("nothing to call back")).to_have_count(0)
    expect(desk.locator(".head .acts .btn:visible")).to_have_count(0)


def test_open_dialog_updates_its_numbers(desk, going):
    watch(desk, going)
    desk.get_by_role("link", name="Pause…", exact=True).click()
    dialog = desk.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{READERS} copies will wait.")

    claim_next_batch()

    expect(dialog).to_contain_text("are being sent and may still arrive.")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    expect(desk.locator("main")).to_contain_text(f"Paused. {READERS} copies wait until you resume.")


def test_actions_change_on_the_open_page_without_losing_focus(desk, going):
    watch(desk, going)
    desk.get_by_role("link", name="Pause…").focus()
    top = desk.locator("#prog").bounding_box()

    call_command("edition", "pause", str(going.issue_id))
    look_now(desk)

    expect(desk.get_by_role("link", name="Resume…")).to_be_visible()
    expect(desk.get_by_role("link", name="Pause…")).to_be_hidden()
    expect(desk.get_by_role("heading", level=1)).to_be_focused()
    assert desk.locator("#prog").bounding_box() == top
    assert desk.evaluate("window.notLoadedAgain")


def test_versions_of_an_issue_are_kept_up_to_date(desk, going, author):
    watch(desk, going)
    expect(desk.get_by_role("heading", name="Versions")).to_be_hidden()
    correction = published(author, issue=going.issue_id, version=2)
    look_now(desk)
    newer, older = (desk.locator(VERSIONS).filter(has_text=f"Version {n}") for n in (2, 1))
    expect(newer).to_contain_text(f"0 of {READERS} sent")
    assert desk.evaluate("window.notLoadedAgain")

    sent(going)
    watch(desk, correction)
    link = older.get_by_role("link", name="Version 1")
    link.focus()

    Batch.objects.filter(edition=correction).update(waiting=READERS - 1, sent=1)
    look_now(desk)

    expect(newer).to_contain_text(f"1 of {READERS} sent")
    expect(newer.locator("[data-part=sent]")).to_have_attribute("width", "2.50%")
    expect(link).to_be_focused()
    desk.locator("h1").focus()
    call_command("edition", "pause", str(going.issue_id), stdout=io.StringIO())
    look_now(desk)
    expect(newer.locator(".state")).to_have_text("Paused")


def test_hidden_page_polls_seldom_and_at_once_when_shown(desk, going):
    desk.clock.install()
    watch(desk, going)
    asked = questions(desk)
    with desk.expect_response(re.compile("seen=")) as first:
        look_now(desk)
    assert "hidden" not in first.value.url
    soon = pause_in(first.value)
    assert soon < 60
    hide(desk, hidden=True)
    # The pause before the next poll is still short, and later pauses are long.
    with desk.expect_response(re.compile("hidden=1")) as seldom:
        desk.clock.run_for(round(1200 * soon))
    assert 54 <= pause_in(seldom.value) <= 66
    before = len(asked)
    desk.clock.run_for(50_000)

    with desk.expect_response(re.compile("seen=")) as again:
        hide(desk, hidden=False)

    assert "hidden" not in again.value.url
    # Nothing has changed, so the answer is 304.
    assert 'id="counts"' not in again.value.text()
    assert len(asked) == before + 1


def test_page_reports_an_unreachable_site_and_continues_later(desk, going):
    watch(desk, going)
    desk.context.set_offline(True)
    look_now(desk)
    silent = desk.get_by_text("The site does not answer.")
    expect(silent).to_be_visible()

    desk.context.set_offline(False)

    expect(silent).to_have_count(0)


def test_finished_issue_is_polled_only_when_its_page_is_shown(desk, going):
    sent(going)
    desk.clock.install()
    watch(desk, going)
    asked = questions(desk)
    desk.clock.run_for(300_000)

    with desk.expect_response(re.compile("seen=")) as answer:
        look_now(desk)

    assert 'data-hx-trigger="look"' in answer.value.text()
    assert len(asked) == 1
    assert desk.locator("meta[http-equiv=refresh]").count() == 0


def test_desk_follows_sending_and_reports_other_changes(desk, going):
    def is_counted(waiting: int, **facts: Any) -> None:
        Batch.objects.filter(edition=going).update(waiting=waiting, sent=READERS - waiting, **facts)

    is_counted(waiting=13)
    desk.goto(f"{FORM}issues/")
    row = desk.locator(f"#edition-{going.pk}")
    expect(row.locator(".tally b")).to_have_text(str(READERS - 13))
    title = desk.get_by_role("link", name=going.title).first
    title.focus()

    is_counted(waiting=5)
    expect(row.locator(".tally b")).to_have_text(str(READERS - 5))
    expect(desk.locator("#news")).to_be_hidden()
    expect(title).to_be_focused()  # nothing was replaced

    is_counted(waiting=0, state="done")
    expect(desk.get_by_text("Something has changed since you opened this page.")).to_be_visible()
    expect(desk.get_by_role("heading", name="Sending now")).to_be_hidden()
    desk.locator("#news").get_by_role("link", name="Refresh").click()
    expect(row).to_have_count(0)


def test_open_import_page_follows_to_the_end_and_keeps_focus(desk):
    record = SubscriberImportFactory(state="running", total=1000, finished_at=None)
    imports = SubscriberImport.objects.filter(pk=record.pk)
    desk.goto(f"{FORM}imports/{record.pk}/")
    desk.locator("h1").focus()
    imports.update(rows=7, added=7)
    expect(desk.locator(".ledger tfoot .num")).to_have_text("7")
    expect(desk.get_by_role("heading", level=1)).to_be_focused()
    imports.update(state="finished", finished_at=Now())
    expect(desk.get_by_role("heading", name="What happened")).to_be_visible()
    assert desk.locator("[data-hx-get]").count() == 0


def test_letter_is_written_saved_and_previewed_without_layout_shifts(windows: list[Page]) -> None:
    for page in windows:
        watch(page, None)
        write(page)
        # A title of several lines pushes the letter down; what follows does not move it.
        page.evaluate(COUNT.replace("buffered: true", "buffered: false"))
        is_saved(page)
        frame = page.frame_locator("[data-frames] iframe >> nth=0")
        expect(frame.get_by_text("they have gone.")).to_be_attached()

        page.get_by_label("Letter, in").press_sequentially(" For good.")
        expect(frame.get_by_text("For good.")).to_be_attached()
        is_saved(page)
    nothing_moved(windows)


def test_sending_now_is_shown_until_copies_have_left(desk, held, readers):
    page = watch(desk, held)
    do(page, "Send now", f"Send to {READERS} readers now")
    hint = page.get_by_text("The first copies are sent now.")
    expect(hint).to_be_visible()

    Delivery.objects.filter(recipient_id=readers[0].pk).update(name="The first")
    sent(held, "The first")
    look_now(page)

    expect(page.locator("#sent-total")).to_have_text("1")
    expect(hint).to_be_hidden()
    expect(page.get_by_role("status")).to_have_text("Sending")

"""An author watches an issue go out at a real browser: live, by dialog, by keyboard, on a phone."""

from __future__ import annotations

import csv
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone
from playwright.sync_api import Page, expect

from delivery.models import Batch, Delivery, Edition
from delivery.queue.control import send_now
from publishing.publish import publish as publish_letter
from publishing.scheduling import moment_of
from publishing.starting import start_due
from publishing.written import content_of
from tests.browser.at_the_desk import FORM, come_to
from tests.browser.conftest import READERS
from tests.browser.desk_of_readers import signed_in
from tests.browser.for_everybody import (
    NARROWEST,
    faults_found_by_axe,
    out_of_reach_of_the_keyboard,
    scrolls_sideways,
)
from tests.browser.test_every_page_of_the_desk_is_for_everybody import PLAIN
from tests.browser.test_publishing_in_a_browser import press, see_it_go_out, write
from tests.publishing.ledger import in_doubt, sent
from tests.publishing.scheduling_desk import its_time_came

pytestmark = pytest.mark.django_db(transaction=True)

held = pytest.mark.parametrize("site_settings", [{"PUBLISH_HOLD_S": "600"}])
PATIENCE_MS = 60_000


def publish(page: Page) -> Edition:
    """Publish a letter, come to its page, and leave its hold as it is."""
    write(page)
    press(page)
    see_it_go_out(page)
    return Edition.objects.filter(kind="newsletter").get()


def choose(page: Page, action: str) -> None:
    page.get_by_role("link", name=f"{action}…", exact=True).click()


def look_now(page: Page) -> None:
    """Come back to the page, as from another tab."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def hide(page: Page, *, hidden: bool) -> None:
    """Go to another tab, or come back. (A headless browser has one window, always visible.)"""
    page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true})"
        "; document.dispatchEvent(new Event('visibilitychange')) }",
        hidden,
    )


def questions(page: Page) -> list[str]:
    """The addresses of all later readings that are asked for from now on."""
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "progress.json" in one.url else None)
    return asked


def test_it_is_watched_to_the_end_without_loading_it_again_and_then_has_a_receipt(desk, site):
    publish(desk)
    desk.evaluate("window.notLoadedAgain = true")
    expect(desk.locator(".lede")).to_contain_text("No worker is running")
    rows = desk.locator("#list tbody tr")
    expect(rows.filter(has_text="Waiting")).not_to_have_count(0)
    heading = desk.locator("h1").element_handle()

    site.deliver()

    look_now(desk)
    expect(desk.locator(".lede")).to_contain_text(
        f"Succeeded. {READERS} copies", timeout=PATIENCE_MS
    )
    expect(desk.get_by_role("status")).to_have_text("Succeeded")
    assert desk.title().startswith("Succeeded:")
    # The readers are told as the numbers are.
    expect(rows.filter(has_text="Waiting")).to_have_count(0)
    expect(rows.filter(has_text="Sent")).not_to_have_count(0)
    expect(desk.locator("[data-older]")).to_be_hidden()
    assert heading.evaluate("heading => heading.isConnected")
    assert desk.evaluate("window.notLoadedAgain")
    desk.get_by_role("link", name="See the receipt").click()
    expect(desk.locator(".tally")).to_contain_text(f"{READERS} of {READERS} sent")
    expect(desk.get_by_role("button", name="Print")).to_be_visible()
    assert faults_found_by_axe(desk) == []


def what_is_told(page: Page) -> str:
    """All that the page says, without what tells the time of the reading."""
    return re.sub(r"Updated \d\d:\d\d:\d\d", "", page.locator("main").inner_text())


def test_a_page_that_is_open_while_a_scheduled_issue_starts_tells_what_a_fresh_one_does(
    new_page, author, readers, site
):
    waits = publish_letter(
        author.pk,
        "k",
        content_of(PLAIN),
        hold_s=30,
        at=moment_of(timezone.now() + timedelta(1), "UTC"),
    ).edition
    page = signed_in(new_page(), site, author)
    page.goto(f"/admin/newsletters/{waits.issue_id}/")
    crumb = page.locator(".crumb")
    expect(crumb).to_contain_text("Version 1. Scheduled by Edith Marlow for ")
    expect(page.get_by_text("Who gets it is settled when its time comes.")).to_be_visible()
    page.evaluate("window.notLoadedAgain = true")
    way_back = crumb.get_by_role("link", name="Issues")
    way_back.focus()

    its_time_came(waits)
    assert start_due()

    look_now(page)
    expect(crumb).to_contain_text("Version 1. Published by Edith Marlow, ")
    rows = page.locator("#list tbody tr")
    expect(rows.filter(has_text="Waiting")).not_to_have_count(0)
    expect(page.locator("[data-older]")).to_be_hidden()
    expect(way_back).to_be_focused()
    assert page.evaluate("window.notLoadedAgain")
    told = what_is_told(page)
    page.reload()
    assert told == what_is_told(page)


@held
def test_the_list_in_which_somebody_has_typed_stays_also_where_they_have_left_it(desk, site):
    edition = publish(desk)
    search = desk.get_by_label("Find a reader")
    search.fill("ad")
    desk.locator("h1").focus()

    assert send_now(edition.pk)
    site.deliver()

    look_now(desk)
    expect(desk.locator(".lede")).to_contain_text("Succeeded", timeout=PATIENCE_MS)
    expect(desk.get_by_text("The hold ended")).to_be_visible()
    expect(search).to_have_value("ad")
    expect(desk.get_by_text("Copies have moved on since this list was read.")).to_be_visible()


@held
def test_the_list_that_somebody_is_at_work_in_stays_and_says_that_it_is_older(desk, site):
    edition = publish(desk)
    search = desk.get_by_label("Find a reader")
    search.fill("ad")

    assert send_now(edition.pk)
    site.deliver()

    look_now(desk)
    expect(desk.locator(".lede")).to_contain_text("Succeeded", timeout=PATIENCE_MS)
    expect(desk.get_by_text("Copies have moved on since this list was read.")).to_be_visible()
    # What nobody is at work in is as it is now.
    expect(desk.get_by_text("The hold ended")).to_be_visible()
    expect(search).to_have_value("ad")
    expect(search).to_be_focused()
    desk.get_by_role("link", name="Read it again").click()
    expect(desk.locator("#list tbody tr").filter(has_text="Waiting")).to_have_count(0)


@held
def test_the_hold_counts_down_and_is_announced_once_near_its_end(desk):
    publish(desk)
    clock = desk.get_by_role("timer")
    before = clock.inner_text()

    expect(clock).not_to_have_text(before)
    assert re.fullmatch(r"\d+:\d\d", clock.inner_text())
    Edition.objects.filter(kind="newsletter").update(
        held_until=F("published_at") + (Edition.objects.get(kind="newsletter").held_until
                                        - Edition.objects.get(kind="newsletter").published_at) / 60
    )  # fmt: skip
    look_now(desk)
    expect(desk.get_by_role("status")).to_have_text("Held. 5 seconds left.", timeout=PATIENCE_MS)


@held
def test_a_dialog_asks_and_escape_is_not_now_and_the_page_behind_is_inert(desk):
    publish(desk)
    link = desk.get_by_role("link", name="Call back…", exact=True)
    link.focus()
    desk.keyboard.press("Enter")
    dialog = desk.get_by_role("dialog", name=f"Call back {READERS} copies?")
    expect(dialog.get_by_role("heading")).to_be_focused()
    assert faults_found_by_axe(desk) == []
    # Every stop is within it, or the browser's own.
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
    desk.get_by_role("dialog").get_by_role("link", name="Not now").click()
    expect(dialog).to_have_count(0)
    assert Edition.objects.get(kind="newsletter").control == "running"
    assert "call-back" not in desk.url


@held
def test_a_double_click_in_the_dialog_does_it_once(desk):
    publish(desk)
    choose(desk, "Call back")

    desk.get_by_role("dialog").get_by_role("button", name="Call back").dblclick()

    expect(desk.locator(".lede")).to_contain_text("Called back. It reached nobody")
    expect(desk.get_by_text("The issue is a draft again, with every word in it.")).to_be_visible()
    expect(desk.get_by_text("nothing to call back")).to_have_count(0)


def test_the_numbers_of_a_dialog_are_those_of_the_moment(desk):
    edition = publish(desk)
    copy = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient").first()
    Delivery.objects.filter(pk=copy.pk).update(
        outcome="sent", sent_at=edition.published_at, evidence="reply", provider_message_id="1"
    )
    Batch.objects.filter(pk=copy.batch_id).update(waiting=F("waiting") - 1, sent=F("sent") + 1)

    choose(desk, "Cancel")

    dialog = desk.get_by_role("dialog", name=f"Cancel for {READERS - 1} readers?")
    expect(dialog).to_contain_text("1 reader has their copy and keep it")


def test_a_hidden_page_asks_seldom_and_looks_at_once_when_it_is_seen_again(desk):
    publish(desk)
    asked = questions(desk)
    with desk.expect_response(re.compile("progress.json")) as first:
        look_now(desk)
    assert "hidden" not in first.value.url
    assert float(first.value.headers["homing-ask-again"]) < 60
    hide(desk, hidden=True)
    # The pause that it was given before is the last short one.
    with desk.expect_response(re.compile("hidden=1"), timeout=PATIENCE_MS) as seldom:
        pass
    assert float(seldom.value.headers["homing-ask-again"]) == 60
    before = len(asked)
    desk.wait_for_timeout(5000)
    assert len(asked) == before

    with desk.expect_response(re.compile("progress.json")) as again:
        hide(desk, hidden=False)

    assert "hidden" not in again.value.url
    # Nothing has changed: it is told so, and no more.
    assert again.value.status == 304


def test_it_says_since_when_the_site_cannot_be_reached_and_goes_on_when_it_can(desk):
    publish(desk)
    desk.context.set_offline(True)
    look_now(desk)
    expect(
        desk.get_by_text(re.compile(r"The site has not answered since \d\d:\d\d:\d\d\."))
    ).to_be_visible()

    desk.context.set_offline(False)

    expect(desk.get_by_text("The site has not answered")).to_have_count(0, timeout=PATIENCE_MS)


def test_at_rest_it_asks_no_more_until_somebody_comes_back_to_it(desk, site):
    edition = publish(desk)
    sent(edition)
    desk.reload()
    asked = questions(desk)
    desk.wait_for_timeout(4000)
    assert asked == []

    with desk.expect_response(re.compile("progress.json")) as answer:
        look_now(desk)

    assert answer.value.headers["homing-ask-again"] == "never"
    assert desk.locator("meta[http-equiv=refresh]").count() == 0


def test_the_missed_are_downloaded_and_readers_are_found(desk, tmp_path):
    edition = publish(desk)
    copy = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient").first()
    Delivery.objects.filter(pk=copy.pk).update(
        outcome="failed", reason="All tries were used up.", missed=True
    )
    Batch.objects.filter(pk=copy.batch_id).update(
        waiting=F("waiting") - 1, failed=F("failed") + 1, missed=1
    )
    desk.reload()

    with desk.expect_download() as download:
        desk.get_by_role("link", name="Download the missed as CSV").click()
    path = Path(tmp_path) / download.value.suggested_filename
    download.value.save_as(path)

    assert path.name.endswith("-v1-missed.csv")
    with path.open(newline="") as file:
        assert [row["address"] for row in csv.DictReader(file)] == [copy.address]
    desk.get_by_label("Find a reader").fill(copy.address[:12])
    desk.get_by_role("button", name="Find").click()
    expect(desk.get_by_role("rowheader", name=copy.address)).to_be_visible()


def test_without_scripts_it_loads_itself_again_and_keeps_its_filter(
    new_page, author, readers, site
):
    page = come_to(new_page(java_script_enabled=False), FORM)
    edition = publish(page)
    page.get_by_role("link", name=re.compile("^Waiting")).click()
    expect(page.get_by_role("rowheader").first).to_be_visible()

    sent(edition)

    expect(page.locator(".lede")).to_contain_text("Succeeded", timeout=PATIENCE_MS)
    assert "outcome=waiting" in page.url
    assert page.locator("meta[http-equiv=refresh]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_is_for_everybody(new_page, author, readers, scheme):
    page = come_to(new_page(color_scheme=scheme, viewport=NARROWEST), FORM)
    edition = publish(page)
    copies = list(Delivery.objects.filter(issue=edition.issue_id).values_list("name", flat=True))
    assert copies

    def is_well(state: str) -> None:
        page.reload()
        expect(page.get_by_role("status")).to_have_text(state)
        assert faults_found_by_axe(page) == [], state
        assert not scrolls_sideways(page), state

    is_well("Sending")
    call_command("edition", "pause", str(edition.issue_id))
    is_well("Paused")
    Edition.objects.filter(pk=edition.pk).update(
        control="stopped", control_reason="Postmark refuses the sender. Confirm it, then resume."
    )
    is_well("Needs attention")
    assert out_of_reach_of_the_keyboard(page) == []
    Edition.objects.filter(pk=edition.pk).update(control="running")
    Batch.objects.filter(edition=edition).update(state="ready")
    in_doubt(edition)
    is_well("Sending")
    Delivery.objects.filter(issue=edition.issue_id).update(
        outcome="sent", sent_at=edition.published_at, evidence="lookup", provider_message_id="m"
    )
    Batch.objects.filter(edition=edition).update(state="done", sent=F("size"), unknown=0, waiting=0)
    is_well("Succeeded")
    for way in ("receipt/", "../receipts/"):
        page.goto(f"/admin/newsletters/{edition.issue_id}/{way}")
        assert faults_found_by_axe(page) == [], way
        assert not scrolls_sideways(page), way
        assert out_of_reach_of_the_keyboard(page) == [], way

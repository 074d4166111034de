"""An author at a real browser changes their mind: call back, pause, resume, cancel."""

from __future__ import annotations

import re

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from delivery.models import Delivery, Edition
from tests.browser.at_the_desk import FORM, come_to
from tests.browser.conftest import READERS
from tests.browser.test_publishing_in_a_browser import press, see_it_go_out, write

pytestmark = pytest.mark.django_db(transaction=True)

held = pytest.mark.parametrize("site_settings", [{"PUBLISH_HOLD_S": "600"}])
in_eight_batches = pytest.mark.parametrize("site_settings", [{"DELIVERY_BATCH_SIZE": "5"}])


def publish(page: Page) -> None:
    """Publish a letter and come to its page."""
    write(page)
    press(page)
    see_it_go_out(page)


def choose(page: Page, action: str) -> None:
    """Follow the button that leads to an action's sheet."""
    page.get_by_role("link", name=f"{action}…", exact=True).click()


def offered(page: Page) -> list[str]:
    """What the page offers to do, in its order."""
    return page.locator(".head .acts .btn:visible").all_inner_texts()


def tab_to(page: Page, name: str) -> None:
    """Go from stop to stop with the tabulator until this one has the focus."""
    page.wait_for_load_state()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            return
    raise AssertionError(f"The tabulator never came to “{name}”.")


@held
def test_what_is_held_is_called_back_and_reaches_nobody(desk, site, provider):
    publish(desk)
    assert offered(desk) == ["Call back…", "Pause…", "Send now…", "Cancel…"]

    choose(desk, "Call back")
    expect(desk.get_by_role("heading", name=f"Call back {READERS} copies?")).to_be_focused()
    desk.get_by_role("button", name=f"Call back {READERS} copies").click()

    expect(desk.locator(".lede")).to_contain_text("Called back. It reached nobody")
    assert offered(desk) == []
    site.deliver()
    issue = Edition.objects.get().issue_id.hex
    assert not any(copy.startswith(issue) for copy in provider.sandbox.outbox.copies(bool))
    assert Delivery.objects.filter(outcome="withdrawn").count() == READERS


@held
def test_the_keyboard_alone_is_enough_to_call_back(desk):
    publish(desk)

    tab_to(desk, "Call back…")
    desk.keyboard.press("Enter")
    expect(desk.get_by_role("heading", name=f"Call back {READERS} copies?")).to_be_focused()
    tab_to(desk, f"Call back {READERS} copies")
    desk.keyboard.press("Enter")

    expect(desk.locator(".lede")).to_contain_text("Called back. It reached nobody")


@in_eight_batches
def test_what_a_worker_is_sending_is_paused_and_resumed_and_everybody_gets_one_copy(
    desk, site, provider
):
    publish(desk)
    sent = desk.locator("[data-text=count_sent]").first
    with site.worker(DELIVERY_RATE_PER_S="1"):
        expect(sent).not_to_have_text("0", timeout=60_000)
        choose(desk, "Pause")
        desk.get_by_role("button", name=re.compile(r"^Pause \d+ copies$")).click()
        expect(desk.locator(".lede")).to_contain_text("Paused.")
        expect(desk.get_by_role("link", name="Resume…")).to_be_visible()
    assert 0 < Delivery.objects.filter(outcome="waiting").count() < READERS

    choose(desk, "Resume")
    desk.get_by_role("button", name=re.compile(r"^Resume for \d+ readers$")).click()
    expect(desk.locator(".lede")).not_to_contain_text("Paused.")
    desk.evaluate("window.notLoadedAgain = true")
    site.deliver()

    expect(desk.locator(".lede")).to_contain_text(f"Succeeded. {READERS} copies went out, one each")
    expect(desk.get_by_role("link", name="Write a correction")).to_be_visible()
    assert offered(desk) == []
    assert desk.evaluate("window.notLoadedAgain")
    issue = Edition.objects.get().issue_id.hex
    copies = provider.sandbox.outbox.copies(bool)
    ours = [count for copy, count in copies.items() if copy.startswith(issue)]
    assert ours == [1] * READERS


def test_what_applies_changes_on_the_open_page_and_the_focus_is_not_lost(desk):
    publish(desk)
    desk.evaluate("window.notLoadedAgain = true")
    tab_to(desk, "Pause…")
    top = desk.locator("#prog").bounding_box()

    call_command("edition", "pause", str(Edition.objects.get().issue_id))

    expect(desk.get_by_role("link", name="Resume…")).to_be_visible()
    expect(desk.get_by_role("link", name="Pause…")).to_be_hidden()
    expect(desk.get_by_role("heading", level=1)).to_be_focused()
    assert desk.locator("#prog").bounding_box() == top
    assert desk.evaluate("window.notLoadedAgain")


def test_cancelling_works_without_scripts(new_page, author, site, readers):
    page = come_to(new_page(java_script_enabled=False), FORM)
    publish(page)
    choose(page, "Cancel")
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()
    page.get_by_role("link", name="Not now").click()
    assert Edition.objects.get().control == "running"

    choose(page, "Cancel")
    page.get_by_role("button", name=f"Cancel for {READERS} readers").click()

    expect(page.get_by_text("The issue is a draft again, with every word in it.")).to_be_visible()
    expect(page.locator(".lede")).to_contain_text("It reached nobody")
    assert offered(page) == []


@held
def test_no_sheet_scrolls_sideways_on_the_smallest_phone(new_page, author, readers):
    page = come_to(new_page(viewport={"width": 320, "height": 640}), FORM)
    publish(page)
    addresses = page.locator(".head .acts .btn:visible").evaluate_all(
        "links => links.map(link => link.href)"
    )

    assert len(addresses) == 4
    for address in addresses:
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address

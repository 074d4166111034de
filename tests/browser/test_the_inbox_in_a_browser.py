"""The sandbox's inbox in a real browser: what a letter may do there, and what it may not."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller, a_message

LETTER = (
    "<!doctype html><title>T</title><h1>Swifts</h1>"
    '<a href="{url}/calls">Read it on the web</a>'
    "<script>document.querySelector('h1').textContent = 'acted'</script>"
)


@pytest.fixture
def inbox(chromium, provider: SandboxServer):
    """A window in which the one letter of the inbox is shown."""
    provider.sandbox.reset()
    Caller(provider.url).send(a_message(HtmlBody=LETTER.format(url=provider.url)))
    context = chromium.new_context()
    page = context.new_page()
    page.goto(provider.url)
    yield page
    context.close()
    provider.sandbox.reset()


def test_a_link_of_a_letter_opens_an_ordinary_window_of_its_own(inbox):
    frame = inbox.frame_locator("iframe")
    with inbox.expect_popup() as opened:
        frame.get_by_role("link", name="Read it on the web").click()

    page = opened.value
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("self.origin") == inbox.evaluate("self.origin")
    expect(frame.get_by_role("heading")).to_have_text("Swifts")


def test_a_script_of_a_letter_does_not_run(inbox):
    expect(inbox.frame_locator("iframe").get_by_role("heading")).to_have_text("Swifts")
    assert inbox.frames[1].evaluate("document.compatMode") == "CSS1Compat"


def test_what_happens_to_a_letter_is_pressed_on_its_page(inbox):
    inbox.get_by_role("link", name="Events").click()
    events = inbox.get_by_role("article")
    expect(events).to_contain_text("Delivered")
    events.get_by_role("button", name="Hard bounce").click()

    log = events.get_by_role("list").first
    expect(log.get_by_role("listitem").last).to_contain_text("Hard bounce")
    events.get_by_role("button", name="Reactivate").click()
    expect(log.get_by_role("listitem").last).to_contain_text("Reactivated")


def test_a_mailbox_provider_unsubscribes_at_the_press_of_a_button(chromium):
    with SandboxServer(unsubscribe_handling="Postmark") as server:
        Caller(server.url).send(a_message())
        page = chromium.new_page()
        page.goto(f"{server.url}/?part=events")
        page.get_by_role("button", name="Post multipart/form-data").click()

        expect(page.get_by_role("article")).to_contain_text("Answered 200: it works.")
        assert "reader1@example.net" in server.sandbox.suppressions.of("broadcast")
        page.close()

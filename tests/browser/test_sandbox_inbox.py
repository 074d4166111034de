"""The sandbox's inbox in a real browser, and the limits of a letter in it."""

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
def inbox(chromium):
    """Open the inbox of a provider that has accepted one letter."""
    with SandboxServer(unsubscribe_handling="Postmark") as server:
        Caller(server.url).send(a_message(HtmlBody=LETTER.format(url=server.url)))
        with chromium.new_context(base_url=server.url) as context:
            page = context.new_page()
            page.goto("/")
            yield page, server


def test_letter_runs_no_script_and_its_link_opens_a_window(inbox):
    page, _ = inbox
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading")).to_have_text("Swifts")
    assert page.frames[1].evaluate("document.compatMode") == "CSS1Compat"
    with page.expect_popup() as opened:
        frame.get_by_role("link", name="Read it on the web").click()

    expect(opened.value.get_by_role("heading", level=1)).to_be_visible()
    assert opened.value.evaluate("self.origin") == page.evaluate("self.origin")
    expect(frame.get_by_role("heading")).to_have_text("Swifts")


def test_events_of_a_letter_are_triggered_on_its_page(inbox):
    page, server = inbox
    page.get_by_role("link", name="Events").click()
    events = page.get_by_role("article")
    expect(events).to_contain_text("Delivered")
    last = events.get_by_role("list").first.get_by_role("listitem").last
    for button, text in (("Hard bounce", "Hard bounce"), ("Reactivate", "Reactivated")):
        events.get_by_role("button", name=button).click()
        expect(last).to_contain_text(text)

    page.get_by_role("button", name="Unsubscribe by Postmark's link").click()
    expect(last).to_contain_text("Unsubscribed")
    assert "reader1@example.net" in server.sandbox.suppressions.of("broadcast")

"""What a letter may not do in the sandbox's inbox, in a real browser."""

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
            yield page


def test_letter_runs_no_script_and_its_link_opens_a_window(inbox):
    frame = inbox.frame_locator("iframe")
    expect(frame.get_by_role("heading")).to_have_text("Swifts")
    assert inbox.frames[1].evaluate("document.compatMode") == "CSS1Compat"
    with inbox.expect_popup() as opened:
        frame.get_by_role("link", name="Read it on the web").click()

    expect(opened.value.get_by_role("heading", level=1)).to_be_visible()
    assert opened.value.evaluate("self.origin") == inbox.evaluate("self.origin")
    expect(frame.get_by_role("heading")).to_have_text("Swifts")

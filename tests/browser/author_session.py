"""Actions of an author on the desk. The functions find buttons by their texts."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import FrameLocator, Locator, Page, Route, expect

from delivery.models import Edition
from postmark_sandbox.server import SandboxServer
from postmark_sandbox.state.accepted_messages import Message

FORM = "/admin/newsletters/"
WRITE = f"{FORM}write/"
TITLE = "Swifts leave without saying goodbye"
LETTER = "Dear {{ name|reader }},\n\nthey have *gone*."
ACCEPTED = "The newsletter issue has been accepted - emails will go out shortly."


def sign_in(page: Page, name: str = "edith") -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Sign in").click()


def come_to(page: Page, address: str = WRITE, name: str = "edith") -> Page:
    """Sign in, open a page, and wait until its scripts have begun."""
    page.goto(address)
    sign_in(page, name)
    page.wait_for_url(lambda url: "/login/" not in url)
    return page


def is_ready(page: Page) -> Page:
    """Wait until the composer's script has begun.

    A test that goes offline must not interrupt the loading of the script.
    """
    expect(page.locator("#composer[data-ready]")).to_be_attached()
    return page


def write(page: Page, words: str = LETTER, *, title: str = TITLE) -> None:
    """Write in the composer, which saves automatically if scripts are on."""
    page.get_by_label("Title and subject").fill(title)
    letter(page).fill(words)


def is_saved(page: Page) -> None:
    expect(page.get_by_role("status")).to_have_text("Saved")


def check(page: Page) -> None:
    """Open the check sheet."""
    page.get_by_role("button", name="Check and publish").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Before it goes out")
    page.wait_for_load_state()


def ask(page: Page, readers: int) -> None:
    """Press the sheet's button, which opens a confirmation."""
    page.get_by_role("button", name=f"Publish to {readers}…").click()


def publish_to(page: Page, readers: int, *, double_click: bool = False) -> None:
    """Press both buttons that publish; check that the site accepts the issue."""
    ask(page, readers)
    button = page.get_by_role("dialog").get_by_role("button", name=f"Publish to {readers}")
    (button.dblclick if double_click else button.click)()
    expect(page.get_by_text(ACCEPTED)).to_be_visible()


def do(page: Page, action: str, words: str | re.Pattern[str]) -> None:
    """Choose an action on an issue's page, and confirm it."""
    page.get_by_role("link", name=f"{action}…", exact=True).click()
    page.get_by_role("button", name=words).click()


def look_now(page: Page) -> None:
    """Act as if the author returned from another tab, so that the page polls."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def succeeded(page: Page, sentence: str | re.Pattern[str] = "Succeeded.") -> None:
    """Wait until the issue's page shows that sending has ended."""
    expect(page.locator(".lede")).to_contain_text(sentence)


def count(page: Page, outcome: str) -> int:
    return int(page.locator(f"#count-{outcome}").inner_text().replace(",", ""))


def edition(version: int = 1) -> Edition:
    """Return the edition with this version; a test has only one issue."""
    return Edition.objects.get(kind="newsletter", version=version)


def make_a_token(page: Page) -> None:
    page.get_by_label("Name").fill("The almanack’s press")
    page.get_by_label("Publishing and scheduling issues").check()
    page.get_by_label("Your password").fill("a long password")
    page.get_by_role("button", name="Create token").click()
    expect(page.get_by_label("Your new token")).to_be_visible()


def accepted_by(provider: SandboxServer) -> list[Message]:
    outbox = provider.sandbox.outbox
    return [outbox.message(number) for number in range(outbox.count)]


def copies_of(provider: SandboxServer, edition: Edition) -> Counter[str]:
    """Return the number of copies of an edition by address."""
    mine = f"{edition.issue_id.hex}.{edition.version}."
    return Counter(
        address
        for message in accepted_by(provider)
        if message.metadata.get("delivery", "").startswith(mine)
        for address in message.recipients
    )


@contextmanager
def late(page: Page, script: str, address: str) -> Iterator[None]:
    """Open a page on a slow line: the page's script arrives when the block ends."""
    waiting: list[Route] = []
    page.route(f"**/{script}*.js", lambda route: waiting.append(route))
    with page.expect_request("**/*.js"):
        page.goto(address, wait_until="commit")
    yield
    for route in waiting:
        route.continue_()
    page.wait_for_load_state()


def letter(page: Page) -> Locator:
    """Show and return the field with the Markdown or HTML of the letter."""
    button = page.locator("button[data-mode=markdown]")
    if button.is_visible() and button.get_attribute("aria-pressed") == "false":
        button.click()
    return page.get_by_label("Letter, in")


def sheet(page: Page) -> Locator:
    """Show and return the editor of the letter."""
    button = page.locator("button[data-mode=letter]")
    if button.get_attribute("aria-pressed") == "false":
        button.click()
    return page.get_by_role("textbox", name="The letter", exact=True)


def markdown(page: Page) -> Locator:
    """Return the field with the letter's Markdown, which may be hidden."""
    return page.locator("#id_letter")


def open_settings(page: Page, group: str) -> None:
    """Show the settings of the issue, with one of their groups open."""
    page.get_by_role("button", name="Settings").click()
    page.locator(".settings summary", has_text=group).click()


def shown(page: Page) -> FrameLocator:
    """Return the preview of the composer."""
    return page.frame_locator("[data-frames] iframe >> nth=0")

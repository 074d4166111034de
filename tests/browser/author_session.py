"""What an author does at the desk, in the words of its pages."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, Route, expect

from delivery.models import Edition
from postmark_sandbox.server import SandboxServer
from postmark_sandbox.state.outbox import Message

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
    """Ask for a page and be led to it by signing in; it is loaded, with its scripts begun."""
    page.goto(address)
    sign_in(page, name)
    page.wait_for_url(lambda url: "/login/" not in url)
    return page


def is_ready(page: Page) -> Page:
    """The composer, once its script has begun: a test that cuts the line must not cut that off."""
    expect(page.locator("#composer[data-ready]")).to_be_attached()
    return page


def write(page: Page, letter: str = LETTER, *, title: str = TITLE) -> None:
    """Write in the composer; with scripts it saves by itself."""
    page.get_by_label("Title and subject").fill(title)
    page.get_by_label("Letter, in").fill(letter)


def is_saved(page: Page) -> None:
    expect(page.get_by_role("status")).to_have_text("Saved")


def check(page: Page) -> None:
    """Go on to the sheet before publishing."""
    page.get_by_role("button", name="Check and publish").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Before it goes out")
    page.wait_for_load_state()


def ask(page: Page, readers: int) -> None:
    """Press the button of the sheet, which asks."""
    page.get_by_role("button", name=f"Publish to {readers}…").click()


def publish_to(page: Page, readers: int, *, double_click: bool = False) -> None:
    """Press the button of the sheet and that of its dialog; the site has accepted it."""
    ask(page, readers)
    button = page.get_by_role("dialog").get_by_role("button", name=f"Publish to {readers}")
    (button.dblclick if double_click else button.click)()
    expect(page.get_by_text(ACCEPTED)).to_be_visible()


def do(page: Page, action: str, words: str | re.Pattern[str]) -> None:
    """Choose an action on the page of an issue, and press the button that asks for it."""
    page.get_by_role("link", name=f"{action}…", exact=True).click()
    page.get_by_role("button", name=words).click()


def look_now(page: Page) -> None:
    """Come back to the page, as from another tab: it asks how things are."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def succeeded(page: Page, sentence: str | re.Pattern[str] = "Succeeded.") -> None:
    """The page of the issue says by itself that all is over."""
    expect(page.locator(".lede")).to_contain_text(sentence)


def count(page: Page, outcome: str) -> int:
    return int(page.locator(f"#count-{outcome}").inner_text().replace(",", ""))


def edition(version: int = 1) -> Edition:
    """The edition of this version of what was written; there is one issue in a test."""
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
    """How many copies of an edition each address got; whoever got none is not in it."""
    mine = f"{edition.issue_id.hex}.{edition.version}."
    return Counter(
        address
        for message in accepted_by(provider)
        if message.metadata.get("delivery", "").startswith(mine)
        for address in message.recipients
    )


@contextmanager
def late(page: Page, script: str, address: str) -> Iterator[None]:
    """Come to a page on a slow line: the script is there at the end of the block, not before."""
    waiting: list[Route] = []
    page.route(f"**/{script}*.js", lambda route: waiting.append(route))
    with page.expect_request("**/*.js"):
        page.goto(address, wait_until="commit")
    yield
    for route in waiting:
        route.continue_()
    page.wait_for_load_state()

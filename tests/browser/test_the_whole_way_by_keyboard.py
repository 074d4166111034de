"""Sign in, write, check, publish, watch and pause, with the keyboard and nothing else."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from delivery.models import Delivery, Edition
from publishing.models import Draft
from tests.browser.at_the_desk import (
    ACCEPTED,
    LETTER,
    TITLE,
    WRITE,
    copies_of,
    edition,
    is_saved,
    succeeded,
)
from tests.browser.conftest import READERS

pytestmark = pytest.mark.django_db(transaction=True)

FARTHEST = 60
# What a screen reader would call the place where the focus is.
NAME = """() => {
  const e = document.activeElement;
  return (e.labels?.[0]?.innerText ?? e.innerText).trim().replace(/\\s+/g, " ");
}"""


def tab_to(page: Page, name: str) -> None:
    """Go on from where one is, stop by stop, until this one has the focus and shows it."""
    page.wait_for_load_state()
    for _ in range(FARTHEST):
        page.keyboard.press("Tab")
        if page.evaluate(NAME) == name:
            shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert shown != "none", name
            return
    raise AssertionError(f"Tab never came to “{name}”.")


def type_into(page: Page, name: str, words: str) -> None:
    tab_to(page, name)
    page.keyboard.type(words)


def press(page: Page, name: str) -> None:
    tab_to(page, name)
    page.keyboard.press("Enter")


def test_an_issue_is_written_published_watched_and_paused_by_keyboard(
    new_page, author, readers, site, provider
):
    page = new_page()
    page.goto(WRITE)
    page.evaluate("document.activeElement.blur()")
    type_into(page, "User name", "edith")
    type_into(page, "Password", "a long password")
    page.keyboard.press("Enter")
    expect(page.locator("#composer[data-ready]")).to_be_attached()

    # The skip link leads past the head of the page.
    press(page, "Skip to content")
    type_into(page, "Title and subject", TITLE)
    tab_to(page, "Letter, in Markdown")
    for number, line in enumerate(LETTER.split("\n")):
        if number:
            page.keyboard.press("Enter")
        page.keyboard.type(line)
    is_saved(page)
    assert (Draft.objects.get().title, Draft.objects.get().letter) == (TITLE, LETTER)

    press(page, "Check and publish")
    expect(page.get_by_role("heading", level=1)).to_have_text("Before it goes out")
    press(page, f"Publish to {READERS}…")
    dialog = page.get_by_role("dialog", name=f"Publish to {READERS} readers?")
    expect(dialog.get_by_role("heading")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    assert not Edition.objects.exists()
    expect(page.get_by_role("button", name=f"Publish to {READERS}…")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("heading")).to_be_focused()
    press(page, f"Publish to {READERS}")
    expect(page.get_by_text(ACCEPTED)).to_be_visible()
    assert edition().audience == READERS

    press(page, "Pause…")
    expect(
        page.get_by_role("dialog", name=f"Pause {READERS} copies?").get_by_role("heading")
    ).to_be_focused()
    press(page, f"Pause {READERS} copies")
    expect(page.get_by_role("status")).to_have_text("Paused")
    assert edition().control == "paused"
    assert Delivery.objects.filter(outcome="waiting").count() == READERS

    press(page, "Resume…")
    expect(page.get_by_role("dialog").get_by_role("heading")).to_be_focused()
    press(page, f"Resume for {READERS} readers")
    expect(page.get_by_role("status")).to_have_text("Sending")
    with site.worker():
        succeeded(page, f"Succeeded. {READERS} copies went out, one each")
    assert copies_of(provider, edition()) == {one.email: 1 for one in readers}

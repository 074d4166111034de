"""An author at a real browser: look at a draft before it goes out, and publish it once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from delivery.models import Edition
from idempotency.key import fresh_key
from publishing import drafts
from publishing.drafts import Wording
from publishing.looking_outside import keeping
from publishing.looking_outside.link_answer import LinkAnswer
from publishing.models import Draft
from publishing.written import Written
from tests.browser.conftest import READERS
from tests.browser.desk_of_readers import signed_in
from tests.browser.for_everybody import (
    NARROWEST,
    faults_found_by_axe,
    out_of_reach_of_the_keyboard,
    scrolls_sideways,
)

pytestmark = pytest.mark.django_db(transaction=True)

ACCEPTED = "The newsletter issue has been accepted - emails will go out shortly."
TITLE = "Swifts leave without saying goodbye"
LINK = "https://weatherbooks.org/1911"
WELL = f"Dear {{{{ name|reader }}}},\n\nthey [have gone]({LINK})."
# Everything that can be said of a letter at once.
FAULTY = (
    "Dear {{ nmae }},\n\nTODO\n\n![](http://almanack.org/swift.png)\n\n"
    f"[the book]({LINK}), [home](about.html), [x](https://{'w' * 60}.example.net/{'y' * 80})"
)


def begun(author: Any, letter: str = WELL) -> Draft:
    """A draft that she has saved, of which the link was opened before: nothing is looked up."""
    keeping.keep_links({LINK: LinkAnswer(status=404, at=LINK)})
    written = Written(TITLE, "Where they are now", "markdown", letter, "")
    return drafts.begin(author.pk, fresh_key(), Wording(written)).draft


def check(page: Page, draft: Draft) -> Page:
    page.goto(f"/admin/newsletters/drafts/{draft.pk}/check/")
    return page


@pytest.fixture
def desk(new_page, site, author, readers) -> Page:
    return signed_in(new_page(), site, author)


@pytest.fixture
def draft(author, transactional_db) -> Draft:
    return begun(author)


def ask(page: Page) -> None:
    """Press the button of the sheet, which asks."""
    page.get_by_role("button", name=f"Publish to {READERS}…").click()


def test_an_author_looks_is_asked_and_publishes(desk, draft, site):
    check(desk, draft)
    expect(desk.get_by_role("heading", level=1)).to_have_text("Before it goes out")
    expect(desk.get_by_text("One link answers 404")).to_be_visible()

    ask(desk)
    dialog = desk.get_by_role("dialog", name=f"Publish to {READERS} readers?")
    expect(dialog).to_contain_text(TITLE)
    expect(dialog.get_by_role("heading")).to_be_focused()
    assert faults_found_by_axe(desk) == []
    dialog.get_by_role("button", name=f"Publish to {READERS}").click()

    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.get().audience == READERS
    assert str(Edition.objects.get().issue_id) in desk.url

    site.deliver()
    desk.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(desk.locator(".lede")).to_contain_text("Succeeded")
    expect(desk.get_by_text(ACCEPTED)).to_be_hidden()


def test_escape_is_not_yet_and_leads_back_to_the_button(desk, draft):
    check(desk, draft)
    button = desk.get_by_role("button", name=f"Publish to {READERS}…")
    button.focus()
    desk.keyboard.press("Enter")
    expect(desk.get_by_role("dialog")).to_be_visible()

    desk.keyboard.press("Escape")

    expect(desk.get_by_role("dialog")).to_have_count(0)
    expect(button).to_be_focused()
    assert not Edition.objects.exists()


def test_the_keyboard_alone_publishes(desk, draft):
    check(desk, draft)
    desk.get_by_role("button", name=f"Publish to {READERS}…").focus()
    desk.keyboard.press("Enter")
    expect(desk.get_by_role("dialog").get_by_role("heading")).to_be_focused()
    desk.keyboard.press("Tab")
    desk.keyboard.press("Enter")

    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 1


def test_a_double_click_publishes_once(desk, draft):
    check(desk, draft)
    ask(desk)

    desk.get_by_role("dialog").get_by_role("button", name="Publish to").dblclick()

    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 1


@pytest.mark.parametrize("scripts", [True, False])
def test_from_the_back_button_nothing_more_is_published(
    new_page, site, author, readers, draft, scripts
):
    page = signed_in(new_page(java_script_enabled=scripts), site, author)
    page.goto(f"/admin/newsletters/drafts/{draft.pk}/publish/")
    page.get_by_role("button", name=f"Publish to {READERS}").click()
    expect(page.get_by_text(ACCEPTED)).to_be_visible()

    page.go_back()
    # A page that was kept can be pressed again; one that is asked for anew leads to the issue.
    again = page.get_by_role("button", name=f"Publish to {READERS}")
    if again.count():
        again.click()

    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    assert Edition.objects.count() == 1


def test_without_scripts_the_same_is_a_page_of_its_own(new_page, site, author, readers, draft):
    page = check(signed_in(new_page(java_script_enabled=False), site, author), draft)
    ask(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Publish to {READERS} readers?")
    page.get_by_role("link", name="Not yet").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Before it goes out")

    ask(page)
    page.get_by_role("button", name=f"Publish to {READERS}").click()

    expect(page.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 1


def test_a_time_that_is_past_is_said_on_the_sheet(desk, draft):
    check(desk, draft)
    expect(desk.get_by_role("button", name="Schedule…")).to_have_count(0)
    desk.get_by_label("Date and time").fill("2001-01-01T07:00")
    expect(desk.get_by_label("At a time")).to_be_checked()

    desk.get_by_role("button", name="Schedule…").click()

    expect(desk.locator("#when-at-error")).to_contain_text("is past")
    expect(desk.locator("#when-at-error")).to_be_in_viewport()
    expect(desk.get_by_label("Date and time")).to_be_focused()

    desk.get_by_label("Date and time").fill("")
    desk.get_by_role("button", name="Schedule…").click()

    expect(desk.get_by_label("Date and time")).to_be_focused()
    assert desk.get_by_label("Date and time").evaluate("field => field.validity.valueMissing")
    assert not Edition.objects.exists()


@pytest.mark.parametrize("site_settings", [{"PUBLISH_HOLD_S": "120"}])
def test_called_back_the_author_is_led_to_the_draft_with_every_word(desk, draft, site_settings):
    check(desk, draft)
    ask(desk)
    desk.get_by_role("dialog").get_by_role("button", name="Publish to").click()
    desk.get_by_role("link", name="Call back…").click()
    desk.get_by_role("button", name=f"Call back {READERS} copies").click()

    expect(desk.get_by_text("The issue is a draft again, with every word in it.")).to_be_visible()
    desk.get_by_role("link", name="Open the draft").click()

    expect(desk.get_by_label("Title and subject")).to_have_value(TITLE)
    expect(desk.locator("#id_letter")).to_have_value(WELL)


def test_what_is_to_be_mended_in_the_text_part_leads_into_its_panel(desk, author):
    written = Written(TITLE, "", "markdown", WELL, "Dear {{ nmae }}, they have gone.")
    check(desk, drafts.begin(author.pk, fresh_key(), Wording(written)).draft)

    desk.get_by_role("link", name="Mend in the text part").first.click()

    expect(desk.get_by_label("Text part, in your own words")).to_be_focused()
    desk.evaluate("location.hash = 'id_letter'")
    expect(desk.get_by_label("Letter, in")).to_be_focused()


def test_what_is_not_known_yet_is_looked_up_while_the_page_is_there(desk, author):
    draft = begun(author, "They [have gone](https://127.0.0.1.nowhere.invalid.example/).")
    looks = []
    desk.on("request", lambda request: looks.append(request.url) if "looks" in request.url else 0)
    check(desk, draft)

    expect(desk.locator("[data-looking]:visible")).to_have_count(0, timeout=20_000)

    assert len(looks) == 1
    assert looks[0].endswith(f"{draft.pk}/looks/")
    expect(desk.get_by_text("have not been opened yet")).to_have_count(0)


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_the_sheet_is_for_everybody(new_page, site, author, readers, colour_scheme):
    page = signed_in(new_page(viewport=NARROWEST, color_scheme=colour_scheme), site, author)
    for letter in (WELL, FAULTY):
        check(page, begun(author, letter))
        expect(page.locator("[data-looking]:visible")).to_have_count(0, timeout=20_000)
        assert faults_found_by_axe(page) == []
        assert not scrolls_sideways(page)
    expect(page.locator("#why")).to_contain_text("One stop is left:")
    expect(page.locator(".lede")).to_contain_text(re.compile("One thing stops this issue"))
    page.goto(f"/admin/newsletters/drafts/{begun(author).pk}/publish/")
    assert faults_found_by_axe(page) == []
    assert not scrolls_sideways(page)
    assert out_of_reach_of_the_keyboard(page) == []

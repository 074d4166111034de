"""The page around the letter: preview, settings, numbers, narrow windows."""

import pytest
from playwright.sync_api import Locator, expect

from publishing.content.draft_content import MARKDOWN, DraftFields
from subscribers.models import Subscriber, Tag
from tests.browser.author_session import (
    LETTER,
    TITLE,
    is_ready,
    is_saved,
    letter,
    open_settings,
    shown,
)
from tests.browser.pages.desk_pages import at, begun

pytestmark = pytest.mark.django_db(transaction=True)

PHONE = {"width": 390, "height": 844}
FRAME = "document.querySelector('[data-frames] iframe').contentWindow"


def caret_at(field: Locator, words: str) -> None:
    field.evaluate(
        "(field, words) => { field.focus(); const at = field.value.indexOf(words);"
        " field.setSelectionRange(at + words.length, at + words.length) }",
        words,
    )


def test_preview_shows_desktop_phone_text_and_dark(writing):
    frame = writing.locator("[data-frames] iframe")
    expect(shown(writing).get_by_text("they have gone.")).to_be_visible()
    wide = frame.bounding_box()["width"]

    writing.get_by_role("button", name="Phone").click()
    assert frame.bounding_box()["width"] == 390 < wide

    writing.get_by_role("button", name="Dark").click()
    expect(shown(writing).locator("body")).to_have_css("background-color", "rgb(20, 25, 28)")

    writing.get_by_role("button", name="Plain text", exact=True).click()
    expect(shown(writing).locator("pre")).to_contain_text("unsubscribe")

    writing.get_by_role("button", name="Desktop").click()
    expect(shown(writing).get_by_text("they have gone.")).to_be_visible()


def test_preview_shows_the_place_where_the_author_writes(writing):
    written = "\n\n".join(f"- **Day** {{{{ name }}}}:\n  *no* swift {n}." for n in range(80))
    letter(writing).fill(written)
    expect(shown(writing).get_by_text("swift 79.")).to_be_in_viewport()
    assert writing.evaluate(f"{FRAME}.scrollY") > 0

    caret_at(letter(writing), "swift 40.")
    expect(shown(writing).get_by_text("swift 40.")).to_be_in_viewport()
    caret_at(letter(writing), "swift 10.")
    expect(shown(writing).get_by_text("swift 10.")).to_be_in_viewport()

    # A place that is visible already does not move, and a reload adds no entry to the history.
    before = [writing.evaluate(f"{FRAME}.scrollY"), writing.evaluate("history.length")]
    writing.keyboard.insert_text("One")
    expect(shown(writing).get_by_text("swift 10.One")).to_be_in_viewport()
    expect(writing.locator("[data-frames] iframe")).to_have_count(1)
    assert [writing.evaluate(f"{FRAME}.scrollY"), writing.evaluate("history.length")] == before

    writing.get_by_role("button", name="Plain text", exact=True).click()
    caret_at(letter(writing), "swift 70.")
    expect(shown(writing).locator("pre")).to_contain_text("swift 70.")
    scrolled = f"while (!({FRAME}.scrollY > 800)) await new Promise(requestAnimationFrame)"
    writing.evaluate(f"async () => {{ {scrolled} }}")


def test_phone_opens_at_the_first_line_of_the_letter(new_page, author):
    draft = begun(
        author, DraftFields(title=f"{TITLE}, again", preview_text="x " * 60, letter=LETTER)
    )
    page = new_page(author, viewport=PHONE)
    page.goto(at(draft))
    is_ready(page)

    assert page.evaluate("scrollY") == 0
    assert letter(page).bounding_box()["y"] + 32 < PHONE["height"]
    expect(page.get_by_role("button", name="Check and publish")).to_be_in_viewport()
    expect(page.get_by_role("status")).to_be_in_viewport()


def test_phone_shows_letter_preview_or_settings(new_page, author):
    written = "\n\n".join(f"Paragraph {number}." for number in range(80))
    page = new_page(author, viewport=PHONE)
    page.goto(at(begun(author, DraftFields(title=TITLE, format=MARKDOWN, letter=written))))
    is_ready(page)
    caret_at(letter(page), "Paragraph 60.")
    preview = page.get_by_role("button", name="Preview")
    expect(preview).to_have_attribute("aria-pressed", "false")
    # The page must not move when a button of the bar gets the focus.
    preview.focus()
    page.evaluate("scrollTo(0, 2000)")
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("scrollY") == 2000

    preview.click()
    expect(shown(page).get_by_text("Paragraph 60.")).to_be_in_viewport()
    expect(letter(page)).to_be_hidden()
    page.get_by_role("link", name="0 readers").click()
    expect(page.get_by_label("Nobody: archive only")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Settings")).to_have_attribute("aria-pressed", "true")

    page.get_by_role("button", name="Letter", exact=True).click()
    expect(letter(page)).to_be_visible()
    assert page.evaluate("scrollY") == 2000
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_fault_in_a_setting_opens_the_settings(desk, author):
    draft = begun(author, DraftFields(title=TITLE, letter="Gone.", text="Dear {{ nmae }}"))
    desk.goto(at(draft))
    is_ready(desk)

    hint = desk.get_by_label("Settings of this issue").get_by_text("There is no merge field")
    expect(hint).to_be_visible()
    desk.get_by_label("Plain text (edited)").fill("Dear all")
    expect(hint).to_have_count(0)


def test_letter_near_the_limit_of_gmail_is_marked(writing):
    size = writing.locator("[data-stat=size]")
    expect(size).to_have_attribute("data-tone", "")

    letter(writing).fill("word " * 17_000)
    expect(size).to_have_text("Close to Gmail’s limit: 88 of 102 kB")
    expect(size).to_have_attribute("data-tone", "doubt")
    expect(writing.locator(".numbers")).to_contain_text("17,000 words · 74 minutes to read")

    letter(writing).fill("word " * 25_000)
    expect(size).to_have_text("Gmail cuts this letter off: 127 of 102 kB")


def test_tags_show_their_numbers_of_readers(desk, author, readers):
    tag, _none = Tag.objects.create(name="Birds"), Tag.objects.create(name="Fish")
    Subscriber.objects.filter(pk__in=[one.pk for one in readers[:7]]).update(tags=[tag.pk])
    desk.goto(at(begun(author)))
    open_settings(is_ready(desk), "Choose readers by tag")

    for group in ("Only readers", "No readers"):
        tags = desk.get_by_role("group", name=group).locator("label")
        expect(tags).to_have_text(["Birds 7", "Fish 0"], use_inner_text=True)


def test_title_is_one_line_and_enter_saves_it(writing):
    title = writing.get_by_label("Title and subject")
    title.fill("One\n line")
    expect(title).to_have_value("One line")
    title.press("Enter")

    expect(writing.locator("[data-stat=subject]")).to_have_text("One line")
    expect(title).to_have_value("One line")
    is_saved(writing)

"""The tools above the textarea with Markdown or HTML, and find and replace."""

import re

import pytest
from playwright.sync_api import expect

from publishing.content.draft_content import DraftFields
from tests.browser.author_session import (
    LETTER,
    TITLE,
    is_ready,
    is_saved,
    letter,
    markdown,
    sheet,
    shown,
)
from tests.browser.pages.accessibility import faults_found_by_axe
from tests.browser.pages.desk_pages import begun
from tests.browser.web_site import ROOT

pytestmark = pytest.mark.django_db(transaction=True)


SWIFTS = ROOT / "static" / "demo" / "swifts.png"


def test_tools_write_at_the_caret_and_can_be_undone(writing):
    letter(writing).fill("Dear , gone.")
    letter(writing).evaluate("field => field.setSelectionRange(5, 5)")

    writing.locator("summary", has_text="Merge fields").click()
    writing.get_by_role("button", name="{{ name }}").click()
    expect(letter(writing)).to_have_value("Dear {{ name }}, gone.")
    letter(writing).press("Control+z")
    expect(letter(writing)).to_have_value("Dear , gone.")

    letter(writing).evaluate("field => field.setSelectionRange(7, 11)")
    writing.get_by_role("button", name="Bold").click()
    expect(letter(writing)).to_have_value("Dear , **gone**.")
    letter(writing).press("Control+i")
    expect(letter(writing)).to_have_value("Dear , ***gone***.")


WRITTEN = {
    "markdown": {
        "Heading": "## one",
        "Link": "[one](https://)",
        "Quote": "> one",
        "Bulleted list": "- one",
        "Numbered list": "1. one",
    },
    "html": {
        "Heading": "<h2>one</h2>",
        "Link": '<a href="https://">one</a>',
        "Quote": "<blockquote>one</blockquote>",
        "Numbered list": "<ol>\n<li>one</li>\n</ol>",
        "Divider": "<hr>\n\n",
        "Button": '<p class="button"><a href="https://">one</a></p>',
        "Table": "<table>\n<tr><th>Day</th><th>Seen</th></tr>\n"
        "<tr><td>Monday</td><td>14</td></tr>\n</table>\n\n",
    },
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_each_tool_writes_its_format(desk, author, kind):
    draft = begun(author, DraftFields(title=TITLE, format=kind, letter=LETTER))
    desk.goto(f"/admin/newsletters/drafts/{draft.pk}/")
    is_ready(desk)
    for name, text in WRITTEN[kind].items():
        letter(desk).fill("one")
        letter(desk).press("Control+a")
        desk.locator("[data-tools]").get_by_role("button", name=name, exact=True).click()
        expect(letter(desk)).to_have_value(text)


def test_a_signed_out_author_reads_why_no_picture_comes(writing):
    letter(writing).fill("Kept.")
    is_saved(writing)
    writing.context.clear_cookies()
    writing.locator("summary", has_text="Video").click()
    writing.get_by_label("Address of the video").fill("https://vimeo.com/76979871")
    writing.get_by_role("button", name="Get image").click()

    expect(writing.get_by_text("The image could not be fetched.")).to_be_visible()
    expect(letter(writing)).to_have_value("Kept.")


@pytest.mark.parametrize("place", [sheet, letter])
def test_find_and_replace_is_one_step_to_undo(writing, place):
    text = "Swift (1), swift (1).\n\nSwifts."
    letter(writing).fill(text)
    field = place(writing)
    writing.get_by_text("Find and replace").click()
    wanted = writing.get_by_label("Find", exact=True)
    expect(wanted).to_be_focused()
    selected = (
        "field => field.value?.slice(field.selectionStart, field.selectionEnd)"
        " ?? field.querySelector('.ProseMirror-active-search-match').textContent"
    )

    wanted.fill("swift (1)")
    wanted.press("Enter")
    expect(writing.get_by_text("1 of 2")).to_be_visible()
    writing.keyboard.press("Enter")
    expect(writing.get_by_text("2 of 2")).to_be_visible()
    expect(markdown(writing)).to_have_value(text)
    assert field.evaluate(selected) == "swift (1)"
    writing.get_by_label("Match case").check()
    writing.get_by_label("Replace with").fill("tern $&")
    writing.get_by_role("button", name="Find next").click()
    writing.get_by_role("button", name="Replace", exact=True).click()
    expect(markdown(writing)).to_have_value(text.replace("swift (1)", "tern $&"))
    expect(writing.get_by_text("Not found")).to_be_visible()

    writing.get_by_label("Match case").uncheck()
    wanted.fill("swift")
    writing.get_by_role("button", name="Replace all").click()
    expect(writing.get_by_text("Replaced: 2")).to_be_visible()
    expect(markdown(writing)).to_have_value("tern $& (1), tern $&.\n\ntern $&s.")
    writing.get_by_text("Find and replace").click()
    expect(writing.locator(".ProseMirror-search-match")).to_have_count(0)
    field.press("Control+z")
    expect(markdown(writing)).to_have_value(text.replace("swift (1)", "tern $&"))


def test_replace_all_in_a_long_letter_answers_soon(writing):
    letter(writing).evaluate("field => (field.value = 'one word\\n'.repeat(8000))")
    writing.get_by_text("Find and replace").click()
    writing.get_by_label("Find", exact=True).fill("one")
    writing.get_by_role("button", name="Replace all").click()

    expect(writing.get_by_text("Replaced: 8000")).to_be_visible()
    expect(letter(writing)).to_have_value(" word\n" * 8000)


@pytest.mark.parametrize("kind", WRITTEN)
def test_image_with_its_alt_text_is_put_into_the_text(desk, author, kind):
    draft = begun(author, DraftFields(title=TITLE, format=kind, letter="Look: "))
    desk.goto(f"/admin/newsletters/drafts/{draft.pk}/")
    letter(is_ready(desk)).press("End")
    with desk.expect_file_chooser() as chooser:
        desk.locator("[data-tools]").get_by_role("button", name="Image", exact=True).click()
    chooser.value.set_files(SWIFTS)
    dialog = desk.get_by_role("dialog")
    dialog.get_by_label("Alt text").fill('Swifts "over" [a] hedge')
    dialog.get_by_role("button", name="Apply").click()

    written = {
        "markdown": r'^Look: !\[Swifts "over" \\\[a\\\] hedge\]\(/pictures/',
        "html": r'^Look: <img.* alt="Swifts &#34;over&#34; \[a\] hedge"',
    }
    expect(letter(desk)).to_have_value(re.compile(written[kind]))
    picture = shown(desk).get_by_alt_text('Swifts "over" [a] hedge')
    expect(picture).to_be_visible()
    assert picture.evaluate("picture => picture.naturalWidth") > 0
    assert faults_found_by_axe(desk) == []

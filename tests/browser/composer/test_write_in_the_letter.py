"""Authors write in the letter: typing, tools, images, undo, and its Markdown."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from publishing.content.draft_content import MARKDOWN, DraftFields
from publishing.models import Draft, Snippet
from tests.browser.author_session import (
    LETTER,
    TITLE,
    WRITE,
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
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DROP = """async (editor, [bytes, type]) => {
    const { x, y, width } = editor.getBoundingClientRect();
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([new Uint8Array(bytes)], "swifts.png", { type }));
    const at = { clientX: x + width / 2, clientY: y + 30, bubbles: true, cancelable: true };
    editor.dispatchEvent(new DragEvent("drop", { dataTransfer, ...at }));
}"""


def use(page: Page, name: str, *, menu: str = "") -> None:
    """Press a tool, in a menu if it is in one."""
    if menu:
        page.locator("summary", has_text=menu).click()
    page.locator("[data-tools]").get_by_role("button", name=name, exact=True).click()


def done(page: Page) -> None:
    page.get_by_role("dialog").get_by_role("button", name="Apply").click()


@pytest.fixture(params=["desktop", "phone"])
def empty(request, new_page, author, readers) -> Page:
    """Return an empty composer with the caret in the letter."""
    page = new_page(author, **(PHONE if request.param == "phone" else {}))
    page.goto(WRITE)
    sheet(is_ready(page)).click()
    return page


def in_cells(page: Page, *texts: str) -> None:
    """Type texts into a table, from the cell with the caret on."""
    for place, text in enumerate(texts):
        if place:
            page.keyboard.press("Tab")
        page.keyboard.type(text)


TYPED = [
    ("## The lane\nThey left.", "## The lane\n\nThey left."),
    ("- one\ntwo\n\nThree.", "- one\n- two\n\nThree."),
    ("3. one\ntwo", "3. one\n4. two"),
    ("> said\n\n\nwritten", "> said\n\nwritten"),
    ("They **left**, *all* of ~~us~~ `x`.", "They **left**, *all* of ~~us~~ `x`."),
    ("See [this](https://e.org/a).", "See [this](https://e.org/a)."),
    ("Dear {{ name|reader }}, a * b_c #1", r"Dear {{ name|reader }}, a \* b_c #1"),
    (
        "*{{ name|you }}, [see](https://e.org/a)* `{{ name }}` x",
        "*{{ name|you }}, [see](https://e.org/a)* \\`{{ name }}\\` x",
    ),
    ("[{{ name }}’s]({{ archive_url }}).", "[{{ name }}’s]({{ archive_url }})."),
    ("One\n---Two", "One\n\n---\n\nTwo"),
    ("```x = 1\ny", "```\nx = 1\ny\n```"),
    ("1986. was", "1986. was"),
    # Otherwise these signs would be shown, because a letter and punctuation are beside them.
    ("x**(a)**y, *Note:*read", "&#120;**(a)**&#121;, *Note:*&#114;ead"),
]


def test_typed_markdown_becomes_the_format_that_it_means(empty: Page) -> None:
    for typed, meant in TYPED:
        empty.keyboard.press("ControlOrMeta+a")
        empty.keyboard.press("Delete")
        empty.keyboard.press("Control+Alt+0")
        empty.keyboard.type(typed)
        expect(markdown(empty)).to_have_value(meant)


def test_tools_are_toggled_by_mouse_and_keyboard(empty: Page) -> None:
    empty.keyboard.type("gone")
    empty.keyboard.press("ControlOrMeta+a")
    for tool, made in {
        "Bold": "**gone**",
        "Italic": "*gone*",
        "Struck through": "~~gone~~",
        "Heading": "## gone",
        "Small heading": "### gone",
        "Bulleted list": "- gone",
        "Numbered list": "1. gone",
        "Quote": "> gone",
    }.items():
        use(empty, tool)
        expect(markdown(empty)).to_have_value(made)
        button = empty.get_by_role("button", name=tool, exact=True)
        expect(button).to_have_attribute("aria-pressed", "true")
        use(empty, tool)
        expect(markdown(empty)).to_have_value("gone")
        expect(button).to_have_attribute("aria-pressed", "false")
    for key, made in {"b": "**gone**", "i": "*gone*", "Shift+x": "~~gone~~"}.items():
        empty.keyboard.press(f"ControlOrMeta+{key}")
        expect(markdown(empty)).to_have_value(made)
        empty.keyboard.press(f"ControlOrMeta+{key}")
    assert faults_found_by_axe(empty) == []


def test_the_list_after_a_slash_inserts_what_is_chosen(empty: Page) -> None:
    offered = empty.get_by_role("listbox").get_by_role("option")
    # Names that begin with the typed letters.
    empty.keyboard.type("/vid")
    expect(offered).to_have_text(["Video"])
    empty.keyboard.press("ControlOrMeta+a")
    empty.keyboard.type("/tab")
    expect(offered).to_have_text(["Table"])
    empty.keyboard.press("Enter")
    in_cells(empty, "Day", "Seen", "Monday", "14", "")
    use(empty, "Delete row")
    expect(markdown(empty)).to_have_value("| Day | Seen |\n| --- | --- |\n| Monday | 14 |")

    empty.keyboard.press("ControlOrMeta+End")
    empty.keyboard.type("/")
    empty.keyboard.press("Escape")
    empty.keyboard.type("im")
    expect(offered).to_have_count(0)
    empty.keyboard.type("\nA / b\n/foot")
    expect(markdown(empty)).to_have_value(re.compile(r"14 \|\n\n/im\n\nA / b\n\n/foot$"))


def test_a_block_is_inserted_where_the_caret_is(empty: Page) -> None:
    empty.keyboard.type("A wet evening.")
    for _ in range(len("evening.")):
        empty.keyboard.press("ArrowLeft")
    use(empty, "Divider", menu="Insert")
    expect(markdown(empty)).to_have_value("A wet \n\n---\n\nevening.")
    # The author writes on between the block and what follows it.
    empty.keyboard.type("Then:")
    expect(markdown(empty)).to_have_value("A wet \n\n---\n\nThen:\n\nevening.")
    # In an item of a list, a rule of its own would end the list.
    empty.keyboard.type("\n- \n")
    empty.keyboard.type("- ")
    use(empty, "Divider", menu="Insert")
    expect(markdown(empty)).to_have_value(re.compile(r"Then:\n\n.*---\n\nevening\.$", re.DOTALL))


def test_links_and_buttons_are_asked_for(empty: Page) -> None:
    empty.keyboard.type("See this")
    empty.keyboard.press("ControlOrMeta+Shift+ArrowLeft")
    empty.keyboard.press("ControlOrMeta+k")
    address = empty.get_by_label("Address", exact=True)
    expect(address).to_be_focused()
    # Without an address there is no link, and the dialog stays open.
    empty.keyboard.press("Enter")
    expect(address).to_be_visible()
    for typed, meant in (
        ("e.org/a?b=1", "https://e.org/a?b=1"),
        ("ada@e.org", "mailto:ada@e.org"),
        ("/archive/", "/archive/"),
        ("{{ archive_url }}", "{{ archive_url }}"),
    ):
        address.fill(typed)
        done(empty)
        expect(markdown(empty)).to_have_value(f"See [this]({meant})")
        empty.keyboard.press("ControlOrMeta+k")
        chosen = "field => field.value.slice(field.selectionStart, field.selectionEnd)"
        assert address.evaluate(chosen) == meant
    empty.keyboard.type("https://e.org/a b)")
    empty.keyboard.press("Enter")
    expect(markdown(empty)).to_have_value("See [this](<https://e.org/a b)>)")

    # The caret in a link opens the same link, and a changed link continues.
    empty.keyboard.press("ArrowLeft")
    use(empty, "Link")
    done(empty)
    empty.keyboard.type("x")
    empty.keyboard.press("Backspace")
    expect(markdown(empty)).to_have_value("See [this](<https://e.org/a b)>)")
    use(empty, "Link")
    expect(address).to_have_value("https://e.org/a b)")
    address.fill("https://e.org/")
    empty.get_by_role("dialog").get_by_label("Text").fill("that")
    done(empty)
    expect(markdown(empty)).to_have_value("See [that](https://e.org/)")
    empty.keyboard.press("ArrowLeft")
    empty.keyboard.press("ControlOrMeta+k")
    empty.get_by_role("button", name="Remove the link").click()
    expect(markdown(empty)).to_have_value("See that")

    empty.keyboard.press("End")
    use(empty, "Button", menu="Insert")
    address.fill("https://e.org/{{ name }}")
    done(empty)
    expect(markdown(empty)).to_have_value(
        "See that\n\n[button text](https://e.org/{{ name }}){.button}"
    )


def test_a_field_is_a_chip_with_its_fallback(empty: Page) -> None:
    empty.keyboard.type("Dear ")
    use(empty, "{{ name }}", menu="Merge fields")
    expect(markdown(empty)).to_have_value("Dear {{ name }}")
    empty.locator(".merge-field").dblclick()
    empty.get_by_label("If a reader has no value, show").fill("friend {|}")
    done(empty)

    expect(markdown(empty)).to_have_value("Dear {{ name|friend | }}")
    expect(empty.locator(".merge-field")).to_have_text("namefriend |")
    empty.keyboard.type(", hello")
    expect(markdown(empty)).to_have_value("Dear {{ name|friend | }}, hello")
    # Typing does not replace a selected field, nor a field whose dialog was closed.
    empty.locator(".merge-field").click()
    empty.keyboard.type("!")
    expect(markdown(empty)).to_have_value("Dear {{ name|friend | }}!, hello")
    empty.locator(".merge-field").dblclick()
    empty.keyboard.press("Escape")
    empty.keyboard.type("?")
    expect(markdown(empty)).to_have_value("Dear {{ name|friend | }}?!, hello")


def test_a_footnote_at_the_beginning_stays_a_number(empty: Page) -> None:
    use(empty, "Footnote", menu="Insert")
    empty.keyboard.type("On 3 August.")
    is_saved(empty)
    empty.keyboard.press("ControlOrMeta+Home")
    # The first press selects the number.
    empty.keyboard.press("ArrowRight")
    empty.keyboard.press("ArrowRight")
    empty.keyboard.type(": see")
    expect(markdown(empty)).to_have_value("[^1]\\: see\n\n[^1]: On 3 August.")


def test_a_footnote_is_written_at_its_end(empty: Page) -> None:
    empty.keyboard.type("They left")
    use(empty, "Footnote", menu="Insert")
    empty.keyboard.type("On 3 August.")
    expect(markdown(empty)).to_have_value("They left[^1]\n\n[^1]: On 3 August.")
    # Readers do not get a note to which no number leads, and the editor says so.
    unused = empty.locator("[data-unused]")
    expect(unused).to_have_count(0)
    empty.locator(".footnote-ref").click()
    empty.keyboard.press("Delete")
    expect(unused).to_have_attribute("data-unused", re.compile("readers do not get it"))
    for _ in range(3):
        empty.keyboard.press("ControlOrMeta+z")
    expect(markdown(empty)).to_have_value("They left")


def test_keys_never_replace_or_move_what_was_written(empty: Page) -> None:
    empty.keyboard.type("They left.")
    empty.keyboard.press("Escape")
    empty.keyboard.type(" All.\n/table\n")
    in_cells(empty, "a", "b", "1", "2", "3", "4")
    # The arrows stay in the cells, and Tab in the last cell adds a row.
    for key in ("ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft"):
        empty.keyboard.press(key)
    empty.keyboard.press("Shift+Enter")
    expect(markdown(empty)).to_have_value(
        "They left. All.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"
    )
    empty.keyboard.press("ControlOrMeta+End")
    empty.keyboard.press("Tab")
    sheet(empty).press("ControlOrMeta+End")
    empty.keyboard.type("## On")
    empty.keyboard.press("Shift+Enter")
    empty.keyboard.type("See https://e.org/a, or https://e.org/b .")
    expect(markdown(empty)).to_have_value(
        re.compile(r"4 \|\n\n## On\n\nSee https://e\.org/a, or <https://e\.org/b> \.$")
    )


def test_the_caret_stays_where_it_is_in_the_other_form(empty: Page) -> None:
    empty.keyboard.type("One *two* three\nFour\nFive")
    empty.keyboard.press("ArrowUp")
    use(empty, "Markdown")
    empty.keyboard.type("teen")
    expect(markdown(empty)).to_have_value("One *two* three\n\nFourteen\n\nFive")
    empty.get_by_role("button", name="Undo").click()
    expect(markdown(empty)).to_have_value("One *two* three\n\nFour\n\nFive")
    use(empty, "Formatted")
    empty.keyboard.type("ty")
    expect(markdown(empty)).to_have_value("One *two* three\n\nFourty\n\nFive")


def test_the_tools_are_one_stop_of_tab(empty: Page) -> None:
    empty.keyboard.press("Alt+F10")
    expect(empty.get_by_role("button", name="Undo")).to_be_focused()
    for name in ("Redo", "Heading"):
        empty.keyboard.press("ArrowRight")
        expect(empty.get_by_role("button", name=name, exact=True)).to_be_focused()
    empty.keyboard.press("Enter")
    empty.keyboard.press("Shift+Tab")
    empty.keyboard.press("Tab")
    empty.keyboard.press("Alt+F10")
    expect(empty.get_by_role("button", name="Heading", exact=True)).to_be_focused()
    empty.keyboard.press("Tab")
    expect(empty.get_by_role("toolbar").locator(":focus")).to_have_count(0)


def test_a_menu_closes_when_the_author_goes_on(empty: Page) -> None:
    entry = empty.get_by_role("button", name="Footnote")
    insert = empty.locator("summary", has_text="Insert")
    insert.click()
    expect(entry).to_be_visible()
    entry.press("Escape")
    expect(entry).to_be_hidden()
    expect(insert).to_be_focused()
    insert.click()
    sheet(empty).click()
    expect(entry).to_be_hidden()


def test_snippets_and_videos_become_blocks_of_their_own(empty: Page) -> None:
    Snippet.objects.create(name="Signature", text="Yours,\n\n**Edith** {{ name }}")
    empty.keyboard.type("One.")
    use(empty, "Signature", menu="Snippets")
    expect(markdown(empty)).to_have_value("One.\n\nYours,\n\n**Edith** {{ name }}")
    empty.keyboard.press("ControlOrMeta+z")
    expect(markdown(empty)).to_have_value("One.")

    empty.locator("summary", has_text="Video").click()
    empty.get_by_label("Address of the video").fill("https://vimeo.com/76979871")
    empty.get_by_label("Address of the video").press("Enter")
    empty.get_by_role("button", name="Insert video").click()
    empty.keyboard.type("/signa\n")
    expect(markdown(empty)).to_have_value(
        "One.\n\nhttps://vimeo.com/76979871\n\nYours,\n\n**Edith** {{ name }}"
    )
    expect(empty.locator("p.video")).to_be_visible()


def test_images_have_a_place_while_they_load(empty: Page) -> None:
    waiting: list[Route] = []
    empty.route("**/admin/newsletters/pictures/", lambda route: waiting.append(route))
    empty.keyboard.type("Look:")
    sheet(empty).evaluate(DROP, [list(SWIFTS.read_bytes()), "image/png"])
    expect(empty.get_by_text("Uploading the image…")).to_be_visible()
    # The author continues to write while the image loads.
    empty.keyboard.press("ControlOrMeta+Home")
    empty.keyboard.type("Oh. ")
    waiting[0].continue_()

    dialog = empty.get_by_role("dialog")
    dialog.get_by_label("Alt text").fill("Swifts [over] a hedge")
    dialog.get_by_label("Width").select_option("50%")
    dialog.get_by_label("Position").select_option("Right")
    done(empty)
    expect(markdown(empty)).to_have_value(
        re.compile(
            r"^Oh\. Look:\n\n!\[Swifts \\\[over\\\] a hedge\]\(/pictures/.*\)"
            r"{width=50% align=right}$"
        )
    )
    expect(empty.get_by_text("Uploading the image…")).to_have_count(0)

    empty.locator(".editor img[src^='/pictures/']").dblclick()
    dialog.get_by_label("Alt text").fill("")
    done(empty)
    empty.keyboard.type("There.")
    expect(markdown(empty)).to_have_value(re.compile(r"!\[\]\(/pictures/.*\}\n\nThere\.$"))


def test_a_refused_image_is_explained_and_changes_nothing(empty: Page) -> None:
    empty.keyboard.type("Kept.")
    sheet(empty).evaluate(DROP, [[1, 2, 3], "image/png"])

    expect(empty.locator("[data-sentence]")).to_contain_text("cannot show this file")
    expect(markdown(empty)).to_have_value("Kept.")
    expect(empty.get_by_text("Uploading the image…")).to_have_count(0)


def test_markdown_and_letter_are_one_text(desk: Page, author) -> None:
    written = (
        "Dear  {{ name|*you* }},\n\n\n* they\n* left\n\n"
        "Title\n===\n\n<b>x</b>\n\n[r]: https://e.org"
    )
    draft = begun(author, DraftFields(title=TITLE, format=MARKDOWN, letter=written))
    desk.goto(f"/admin/newsletters/drafts/{draft.pk}/")
    words = sheet(is_ready(desk))
    expect(markdown(desk)).to_have_value(written)

    words.locator("h1").click()
    desk.keyboard.press("End")
    desk.keyboard.type("s")
    changed = written.replace("Title\n===", "# Titles")
    expect(markdown(desk)).to_have_value(changed)
    letter(desk).press("ControlOrMeta+End")
    desk.keyboard.type("\n\nThe end.")
    sheet(desk)
    expect(words.locator("p").last).to_have_text("The end.")
    expect(markdown(desk)).to_have_value(f"{changed}\n\nThe end.")
    words.press("ControlOrMeta+z")
    expect(markdown(desk)).to_have_value(changed)
    words.press("ControlOrMeta+z")
    expect(markdown(desk)).to_have_value(written)
    words.press("ControlOrMeta+Shift+z")
    expect(markdown(desk)).to_have_value(changed)
    is_saved(desk)
    expect(shown(desk).get_by_role("heading", name="Titles")).to_be_visible()
    # The browser remembers where the author writes.
    letter(desk)
    desk.reload()
    expect(is_ready(desk).get_by_label("Letter, in")).to_be_visible()


def test_what_is_typed_is_kept_while_the_database_is_down(writing: Page, draft: Draft) -> None:
    words = sheet(writing)
    writing.route("**/drafts/**", lambda route: route.fulfill(status=503))
    words.press("ControlOrMeta+End")
    writing.keyboard.type(" Written in a storm.")
    expect(writing.get_by_role("status").first).to_contain_text("Homing does not answer.")
    writing.unroute("**/drafts/**")
    writing.evaluate("dispatchEvent(new Event('online'))")

    is_saved(writing)
    draft.refresh_from_db()
    assert draft.letter == f"{LETTER} Written in a storm."


def test_words_of_another_window_are_never_replaced_silently(writing: Page, draft: Draft) -> None:
    other = writing.context.new_page()
    other.goto(writing.url)
    for page, words in ((other, " First."), (writing, " Second.")):
        sheet(is_ready(page)).press("ControlOrMeta+End")
        page.keyboard.type(words)
        if page is other:
            is_saved(page)
    expect(writing.get_by_role("status").first).to_contain_text("the draft was changed elsewhere")
    draft.refresh_from_db()
    assert draft.letter == f"{LETTER} First."

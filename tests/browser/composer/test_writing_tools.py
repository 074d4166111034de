"""The composer’s tools: buttons, snippets, images, links, paste, find and replace."""

import re

import pytest
from playwright.sync_api import Page, expect

from publishing.content.draft_content import DraftFields
from publishing.models import Snippet
from tests.browser.author_session import (
    LETTER,
    TITLE,
    WRITE,
    is_ready,
    is_saved,
    letter,
    open_settings,
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


def test_a_snippet_and_a_video_become_blocks_of_their_own(desk):
    desk.goto(WRITE)
    is_ready(desk)
    # The author adds a snippet in another tab.
    Snippet.objects.create(name="Signature", text="Yours,\n\n**Edith**")
    letter(desk).fill("One.Two.")
    letter(desk).evaluate("field => field.setSelectionRange(4, 4)")
    desk.locator("summary", has_text="Snippets").click()
    desk.get_by_role("button", name="Signature").click()
    expect(letter(desk)).to_have_value("One.\n\nYours,\n\n**Edith**\n\nTwo.")
    expect(desk.get_by_role("button", name="Signature")).to_be_hidden()
    letter(desk).press("Control+z")
    expect(letter(desk)).to_have_value("One.Two.")

    desk.locator("summary", has_text="Video").click()
    desk.get_by_label("Address of the video").fill("https://vimeo.com/76979871")
    desk.get_by_label("Address of the video").press("Enter")
    desk.get_by_role("button", name="Insert video").click()

    expect(letter(desk)).to_have_value("One.\n\nhttps://vimeo.com/76979871\n\nTwo.")
    expect(desk.frame_locator("iframe").get_by_text("Watch the video")).to_be_visible()


WRITTEN = {
    "markdown": {
        "Heading": "## one\n## two",
        "Link": "[one\ntwo](https://)",
        "Quote": "> one\n> two",
        "Bulleted list": "- one\n- two",
        "Numbered list": "1. one\n2. two",
        "Divider": "---\n\n",
        "Button": "[one\ntwo](https://){.button}",
        "Table": "| Day | Seen |\n| --- | ---: |\n| Monday | 14 |\n| Tuesday | 9 |\n\n",
    },
    "html": {
        "Heading": "<h2>one\ntwo</h2>",
        "Link": '<a href="https://">one\ntwo</a>',
        "Quote": "<blockquote>one\ntwo</blockquote>",
        "Numbered list": "<ol>\n<li>one</li>\n<li>two</li>\n</ol>",
        "Divider": "<hr>\n\n",
        "Button": '<p class="button"><a href="https://">one\ntwo</a></p>',
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
        letter(desk).fill("one\ntwo")
        letter(desk).press("Control+a")
        desk.get_by_role("button", name=name, exact=True).click()
        expect(letter(desk)).to_have_value(text)


def test_a_signed_out_author_reads_why_no_picture_comes(writing):
    letter(writing).fill("Kept.")
    is_saved(writing)
    writing.context.clear_cookies()
    writing.get_by_text("Video", exact=True).click()
    writing.get_by_label("Address of the video").fill("https://vimeo.com/76979871")
    writing.get_by_role("button", name="Get image").click()

    expect(writing.get_by_text("The image could not be fetched.")).to_be_visible()
    expect(letter(writing)).to_have_value("Kept.")


def test_find_and_replace_is_one_step_to_undo(writing):
    text = "Swift (1), swift (1).\n\nSwifts."
    letter(writing).fill(text)
    writing.get_by_text("Find and replace").click()
    wanted = writing.get_by_label("Find", exact=True)
    selected = "field => field.value.slice(field.selectionStart, field.selectionEnd)"

    wanted.fill("swift (1)")
    wanted.press("Enter")
    writing.keyboard.press("Enter")
    expect(writing.get_by_text("2 of 2")).to_be_visible()
    assert letter(writing).evaluate(selected) == "swift (1)"
    writing.get_by_label("Match case").check()
    writing.get_by_label("Replace with").fill("tern $&")
    writing.get_by_role("button", name="Find next").click()
    writing.get_by_role("button", name="Replace", exact=True).click()
    expect(letter(writing)).to_have_value(text.replace("swift (1)", "tern $&"))
    expect(writing.get_by_text("Not found")).to_be_visible()

    writing.get_by_label("Match case").uncheck()
    wanted.fill("swift")
    writing.get_by_role("button", name="Replace all").click()
    expect(writing.get_by_text("Replaced: 2")).to_be_visible()
    expect(letter(writing)).to_have_value("tern $& (1), tern $&.\n\ntern $&s.")
    letter(writing).press("Control+z")
    expect(letter(writing)).to_have_value(text.replace("swift (1)", "tern $&"))


def test_replace_all_in_a_long_letter_answers_soon(writing):
    letter(writing).evaluate("field => (field.value = 'one word\\n'.repeat(8000))")
    writing.get_by_text("Find and replace").click()
    writing.get_by_label("Find", exact=True).fill("one")
    writing.get_by_role("button", name="Replace all").click()

    expect(writing.get_by_text("Replaced: 8000")).to_be_visible()
    expect(letter(writing)).to_have_value(" word\n" * 8000)


def test_image_with_its_alt_text_is_put_into_the_letter(writing):
    letter(writing).press("End")
    with writing.expect_file_chooser() as chooser:
        writing.get_by_role("button", name="Image", exact=True).click()
    chooser.value.set_files(SWIFTS)
    dialog = writing.get_by_role("dialog")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Alt text").fill("Swifts over a hedge")
    dialog.get_by_role("button", name="Insert image").click()

    expect(letter(writing)).to_have_value(re.compile(r"!\[Swifts over a hedge\]\(/pictures/"))
    expect(shown(writing).get_by_alt_text("Swifts over a hedge")).to_be_visible()
    picture = shown(writing).get_by_alt_text("Swifts over a hedge")
    assert picture.evaluate("picture => picture.naturalWidth") > 0
    open_settings(writing, "Images 1")
    writing.locator("[data-image-list]").get_by_label("Alt text").fill("Nine swifts")
    expect(letter(writing)).to_have_value(re.compile(r"!\[Nine swifts\]\(/pictures/"))
    assert faults_found_by_axe(writing) == []


def test_alt_text_replaces_any_earlier_alt_text(writing):
    letter(writing).fill("Two ![](/one.png), [of](/a) ![!](/two.png) them.")
    open_settings(writing, "Images 2")
    first, second = writing.locator("[data-image-list]").get_by_label("Alt text").all()

    first.press_sequentially("cat")
    second.fill("! [hi]")

    expect(letter(writing)).to_have_value(
        r"Two ![cat](/one.png), [of](/a) ![! \[hi\]](/two.png) them."
    )
    first.fill("")
    expect(letter(writing)).to_have_value(
        r"Two ![](/one.png), [of](/a) ![! \[hi\]](/two.png) them."
    )


def test_width_and_position_of_an_image_are_chosen(writing):
    letter(writing).fill("![a](/o(n)e.png)\n\n![b](/two.png){width=40%}")
    open_settings(writing, "Images 2")
    first, second = writing.get_by_label("Width").all()
    expect(second).to_have_value("40%")

    first.select_option("50%")
    writing.get_by_label("Position").first.select_option("Right")
    second.select_option("Full width")

    expect(letter(writing)).to_have_value(
        "![a](/o(n)e.png){width=50% align=right}\n\n![b](/two.png)"
    )


def test_brackets_without_end_do_not_stop_the_composer(writing):
    letter(writing).evaluate("""field => {
        field.value = "![".repeat(60000) + "![a](/one.png)";
        field.dispatchEvent(new Event("input", { bubbles: true }));
    }""")

    open_settings(writing, "Images 1")


def test_a_link_on_a_link_does_not_nest(writing):
    select = "(field, [from, to]) => { field.focus(); field.setSelectionRange(from, to); }"
    paste = """(field, text) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", text);
        field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
    }"""
    letter(writing).fill("Nine swifts")
    letter(writing).evaluate(select, [5, 11])
    letter(writing).evaluate(paste, "https://e.org/a")
    expect(letter(writing)).to_have_value("Nine [swifts](https://e.org/a)")
    letter(writing).evaluate(select, [5, 30])
    letter(writing).press("Control+k")
    expect(letter(writing)).to_have_value("Nine [swifts](https://e.org/a)")

    letter(writing).press("Control+z")
    expect(letter(writing)).to_have_value("Nine swifts")
    letter(writing).fill("https://e.org/a")
    letter(writing).press("Control+a")
    letter(writing).press("Control+k")
    expect(letter(writing)).to_have_value("[link text](https://e.org/a)")


GOOGLE_DOCS = (
    '<meta charset="utf-8"><b style="font-weight:normal;" id="docs-internal-guid-1"><h2 dir="ltr">'
    '<span style="font-size:16pt;font-weight:400;">The lane</span></h2><p dir="ltr"><span '
    'style="font-weight:400">They </span><span style="font-weight:700">left</span><span '
    'style="font-style:italic"> quietly</span><span>, see </span><a href="https://www.google.com/'
    'url?q=https://e.org/a%3Fb&amp;sa=D"><span>this</span></a>.</p><ul><li><p><span>one</span></p>'
    "</li></ul></b><br>"
)


WORD = (
    "<html><head><style>p {color: red}</style></head><body><!--StartFragment--><p class=MsoNormal>"
    "<b>Swifts</b> <a name=x>stay</a><o:p></o:p></p><p class=MsoListParagraph style='mso-list:l0 "
    "level1 lfo1'><span style='mso-list:Ignore'>·<span>&nbsp; </span></span>one</p><p "
    "style='mso-list:l0 level2 lfo1'><span style='mso-list:Ignore'>o</span>two</p>"
    "<p style='mso-list:l0 level1 lfo1'><span style='mso-list:Ignore'>·</span>three</p>"
    "<table><tr><td><p>Day</p></td><td>Seen</td></tr><tr><td>Mon</td><td>4</td></tr></table></body>"
)


WEB_PAGE = (
    '<h3>A page</h3><script>x</script><p>a <em>b</em> <del>c</del> {{ city_name }} <img src="https:'
    '//spy.example/p.gif"></p><iframe src="https://www.youtube.com/embed/abc"></iframe>'
    '<p><a href="javascript:alert(1)">bad</a></p>'
)


CODE = (
    r"<p>\{{ a_b }} and \\{{ a }} in <code>{{ x|join('\n') }}</code> <kbd>\{{ y }}</kbd></p>"
    '<div class="highlight"><pre><span>{{ a_b }}</span><br>x\\y\nstyle = 1</pre></div>'
    '<pre><code class="language-py"><div>a</div><div>b</div></code></pre>'
)


CODE_IN_MARKDOWN = r"""\{{ a_b }} and \\{{ a }} in `{{ x|join('\n') }}` `\{{ y }}`

```
{{ a_b }}
x\y
style = 1
```

```py
a
b
```"""


PASTES = [
    (
        GOOGLE_DOCS,
        "## The lane\n\nThey **left** *quietly*, see [this](https://e.org/a?b).\n\n-   one",
    ),
    (
        WORD,
        (
            "**Swifts** stay\n\n-   one\n    -   two\n-   three\n\n"
            "| Day | Seen |\n| --- | --- |\n| Mon | 4 |"
        ),
    ),
    (
        WEB_PAGE,
        (
            "### A page\n\na *b* ~~c~~ {{ city_name }}\n\n"
            "[Watch the video](https://www.youtube.com/embed/abc)\n\nbad"
        ),
    ),
    (CODE, CODE_IN_MARKDOWN),
    ("<div><span style='color:red'>*plain*</span></div>", "plain text"),
    ("<html><body><pre style='color:red'><span>\\{{ x }}</span></pre></body></html>", "plain text"),
]


def paste(page: Page, html: str, text: str = "plain text") -> None:
    page.get_by_label("Letter, in").evaluate(
        """(field, [html, text]) => {
          const data = new DataTransfer();
          data.setData("text/html", html);
          data.setData("text/plain", text);
          const all = { clipboardData: data, bubbles: true, cancelable: true };
          if (field.dispatchEvent(new ClipboardEvent("paste", all))) {
            document.execCommand("insertText", false, text);
          }
        }""",
        [html, text],
    )


@pytest.mark.parametrize(
    ("html", "markdown"), PASTES, ids=["docs", "word", "web", "code", "plain", "editor"]
)
def test_pasted_rich_text_becomes_markdown(composer, html, markdown):
    letter = composer.get_by_label("Letter, in")
    letter.fill("")
    letter.focus()
    paste(composer, html)
    expect(letter).to_have_value(markdown)
    composer.keyboard.press("Control+z")
    expect(letter).to_have_value("")

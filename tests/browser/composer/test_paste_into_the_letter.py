"""Authors paste rich text, Markdown and addresses into the letter."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.author_session import letter, markdown, sheet

pytestmark = pytest.mark.django_db(transaction=True)
PASTE = """(editor, [html, text]) => {
    const clipboardData = new DataTransfer();
    if (html) clipboardData.setData("text/html", html);
    clipboardData.setData("text/plain", text);
    const all = { clipboardData, bubbles: true, cancelable: true };
    editor.dispatchEvent(new ClipboardEvent("paste", all));
}"""

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
    "<p style='mso-list:l1 level1 lfo2'><span style='mso-list:Ignore'>1.</span>first</p>"
    "<table><tr><td><p>Day</p></td><td>Seen</td></tr><tr><td>Mon</td><td>4</td></tr></table></body>"
)

WORD_WITHOUT_FORMATS = (
    "<p class=MsoNormal>They left.<o:p></o:p></p><p class=MsoNormal>All.<o:p></o:p></p>"
)

SPREADSHEET = (
    "<table><tr><td>a</td><td>b</td><td>c</td></tr>"
    "<tr><td colspan=2 rowspan=2>1</td><td>2</td></tr><tr><td>3</td></tr></table>"
)

WEB_PAGE = (
    '<h3>A page</h3><script>x</script><p>a <em>b</em> <del>c</del> {{ city_name }} <img src="https:'
    '//spy.example/p.gif"></p><iframe src="https://www.youtube.com/embed/abc"></iframe>'
    '<p><a href="javascript:alert(1)">bad</a></p>'
)

CODE = (
    r"<p>{{ a_b }} in <code>{{ x|join('\n') }}</code> <kbd>\{{ y }}</kbd></p>"
    '<div class="highlight"><pre><span>{{ a_b }}</span><br>x\\y\nstyle = 1</pre></div>'
    '<pre><code class="language-py"><div>a</div><div>b</div></code></pre>'
)

CODE_IN_MARKDOWN = r"""{{ a_b }} in `{{ x|join('\n') }}` `\{{ y }}`

```
{{ a_b }}
x\y
style = 1
```

```py
a
b
```"""

HOSTILE = (
    "<p onclick=x()><b>a</b> <a href='https://www.google.com/url?q=javascript:x()'>b</a> "
    "<a href='https://www.google.com/url?q=%'>c</a> <img src='https://spy.example/p.png'></p>"
)

PASTES = [
    (
        GOOGLE_DOCS,
        "## The lane\n\nThey **left** *quietly*, see [this](https://e.org/a?b).\n\n- one",
    ),
    (
        WORD,
        (
            "**Swifts** stay\n\n- one\n  - two\n- three\n\n1. first\n\n"
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
    (WORD_WITHOUT_FORMATS, "They left.\n\nAll."),
    (
        SPREADSHEET,
        "| a | b | c |\n| --- | --- | --- |\n| 1 |  | 2 |\n|  |  | 3 |",
    ),
    ("<blockquote><p>Said.</p></blockquote><p>Then.</p>", "> Said.\n\nThen."),
    (HOSTILE, "**a** b c"),
    ("<table><tr><th>a<tr><td><ul><li>b<li>c</ul></table>", "| a |\n| --- |\n| b c |"),
    ("<ul><li>" * 100, "plain text"),
    ("<div><span style='color:red'>*plain*</span></div>", "plain text"),
    ("<html><body><pre style='color:red'><span>\\{{ x }}</span></pre></body></html>", "plain text"),
    ("", "plain text"),
]


@pytest.mark.parametrize("place", ["sheet", "letter"])
@pytest.mark.parametrize(
    ("html", "meant"),
    PASTES,
    ids=[
        "docs",
        "word",
        "web",
        "code",
        "paragraphs",
        "spreadsheet",
        "quote",
        "hostile",
        "list in a cell",
        "nested",
        "plain",
        "editor",
        "text",
    ],
)
def test_pasted_rich_text_keeps_only_what_a_letter_can_show(composer, html, meant, place):
    field = {"sheet": sheet, "letter": letter}[place](composer)
    field.click()
    if place == "letter" and meant == "plain text":
        return  # The browser pastes it.
    field.evaluate(PASTE, [html, "plain text"])
    expect(markdown(composer)).to_have_value(meant)
    composer.keyboard.press("Control+z")
    expect(markdown(composer)).to_have_value("")


def test_pasted_markdown_is_read_and_an_address_becomes_a_link(composer: Page) -> None:
    field = sheet(composer)
    field.click()
    field.evaluate(PASTE, ["", "## Title\n\n- {{ name }}\n- **b**"])
    expect(markdown(composer)).to_have_value("## Title\n\n- {{ name }}\n- **b**")
    composer.keyboard.press("ControlOrMeta+a")
    composer.keyboard.type("Nine swifts")
    composer.keyboard.press("ControlOrMeta+Shift+ArrowLeft")
    # As with a real paste, the editor reads the selection at the key.
    composer.keyboard.press("Control")
    field.evaluate(PASTE, ["", "https://e.org/a"])
    expect(markdown(composer)).to_have_value(re.compile(r"\[swifts\]\(https://e.org/a\)$"))
    # With Shift, the text stays as it is.
    composer.keyboard.press("ControlOrMeta+a")
    composer.keyboard.down("Shift")
    field.evaluate(PASTE, ["<b>x</b>", "Price\n---\n\n- milk"])
    composer.keyboard.up("Shift")
    expect(markdown(composer)).to_have_value("Price\\\n\\---\n\n\\- milk")
    # An address keeps its lines. The lines of a text that was wrapped are joined.
    composer.keyboard.press("ControlOrMeta+a")
    wrapped = (
        "Nine swifts came back to the tannery, and they stayed there\nuntil the third of August."
    )
    field.evaluate(PASTE, ["", f"Yours,\nEdith\n1 Lane\n\n{wrapped}"])
    joined = wrapped.replace("\n", " ")
    expect(markdown(composer)).to_have_value(f"Yours,\\\nEdith\\\n1 Lane\n\n{joined}")

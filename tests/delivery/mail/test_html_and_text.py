"""An author's content becomes the mail that is stored with the edition."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.mail import inline_css
from delivery.mail.colours_and_typefaces import look_of
from delivery.mail.html_and_text import MailParts, compose
from delivery.mail.inline_css import MAX_LENGTH
from delivery.mail.merge_fields import FieldTemplate, unknown_fields, uses_field
from delivery.mail.normalise_html import MAX_DEPTH, VOID
from delivery.models import Newsletter

SITE = "https://letter.example.org"
NEWSLETTER = Newsletter(name="Ada & Friends", postal_address="1 Quay <b>, Lisbon", language="en-GB")


def mail(
    html: str = "", text: str = "", *, title: str = "Tides", preview_text: str = ""
) -> MailParts:
    return compose(
        title, html, text, newsletter=NEWSLETTER, site_url=SITE, preview_text=preview_text
    )


def inline_styles(fragment: str) -> str:
    return inline_css.inline_styles(fragment, look_of(NEWSLETTER))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader


def style_of(fragment: str, tag: str) -> str:
    """Read the inline style of a fragment's first element with this tag."""
    return next(
        facts.get("style") or ""
        for name, facts in read(inline_styles(fragment)).tags
        if name == tag
    )


def test_fragment_gets_frame_and_missing_title() -> None:
    html = mail("<p>It's <em>high</em> tide, {{ name|friend }} & all.</p>").html
    assert html.lower().startswith("<!doctype html>")
    assert ">It's <em>high</em> tide, {{ name|friend }} &amp; all.</p>" in html
    assert '<html lang="en-GB" dir="ltr">' in html
    assert "Ada &amp; Friends" in html
    assert ">Tides</h1>" in html
    title = "Swifts & {{ name|you }}"
    shown = ">Swifts &amp; {{ name|you }}</h1>"
    for own in (
        "<p>Dear,</p><h1>swifts &amp;\n{{ name|you }}</h1>",
        '<H1 class="a"><em>Swifts</em> &amp; {{ name|you }}</H1>',
    ):
        assert shown not in mail(own, title=title).html
    for other in ("<h1>My own</h1>", "<h1>My own</h1><h1>Swifts</h1>", "<h2>Swifts</h2>"):
        assert shown in mail(other, title=title).html


def test_a_title_and_a_name_in_it_are_escaped() -> None:
    html = mail("<p>x</p>", title="Fish & <chips> for {{ name|you & me }}").html
    assert "<title>Fish &amp; &lt;chips&gt; for {{ name|you &amp; me }}</title>" in html
    filled = FieldTemplate(html, html=True).fill({"name": ""})
    assert ">Fish &amp; &lt;chips&gt; for you &amp; me</h1>" in filled
    filled = FieldTemplate(html, html=True).fill({"name": '"><script>'})
    assert "<script>" not in filled
    assert 'for &quot;&gt;&lt;script&gt;"' in filled


@pytest.mark.parametrize(
    "fragment",
    [
        "<p>x</p>",
        '<a href="{{ unsubscribe_url }}">Unsubscribe</a>',
        # A link to unsubscribe that readers cannot see does not count.
        "<p>x</p><script>{{ unsubscribe_url }}</script>",
    ],
)
def test_a_fragment_gets_one_unsubscribe_link_and_the_postal_address(fragment: str) -> None:
    made = mail(fragment, "x")
    assert unknown_fields(made.html) == unknown_fields(made.text) == []
    assert made.html.count("{{ unsubscribe_url }}") == 1
    assert made.html.count("Unsubscribe</a>") == 1
    assert "1 Quay &lt;b&gt;, Lisbon" in made.html
    assert "{{ archive_url }}" in made.html


DOCUMENT = "<!DOCTYPE html><html><head><title>Mine</title></head><body><p>x</p>{}</body></html>"


def test_whole_document_only_gets_its_missing_footer() -> None:
    document = DOCUMENT.format('<a href="{{ unsubscribe_url }}">Leave</a>')
    assert mail(document).html == document
    html = mail(DOCUMENT.format("<p>last</p>"), preview_text="x").html
    before, _, after = html.partition("{{ unsubscribe_url }}")
    assert before.startswith("<!DOCTYPE html><html><head><title>Mine</title>")
    assert "<p>last</p>" in before
    assert after.endswith("</body></html>")
    assert "Ada &amp; Friends" in html
    assert "display:none" not in html


@pytest.mark.parametrize("document", ["<html><p>x</p>", "<BODY><p>x</p></ BODY ></HTML>", "<body>"])
def test_unclosed_document_still_gets_its_footer(document: str) -> None:
    assert uses_field(mail(document).html, "unsubscribe_url")


def test_mail_begins_with_the_hidden_preview_text_and_blanks() -> None:
    html = mail("<p>First words.</p>", preview_text='For {{ name|"you" }} & <all>').html
    words = "".join(read(html[html.index("<body") :]).words)
    hidden = re.search(r'<div style="display:none;[^"]*">(.*?)</div>', html)
    assert hidden
    assert hidden[1].startswith("For {{ name|&quot;you&quot; }} &amp; &lt;all&gt;&#8199;&#847; ")
    assert "display:none" not in mail("<p>x</p>").html
    blanks = words.partition("<all>")[2].partition("Ada & Friends")[0]
    assert len(blanks) > 100
    assert not blanks.translate({0x2007: None, 0x34F: None}).strip()


def test_styles_are_inlined() -> None:
    assert "margin:0 0 20px" in style_of("<p>x</p>", "p")
    assert "font-style:italic" in style_of("<h2>x</h2>", "h2")
    assert "border-left:1px solid" in style_of("<blockquote><p>x</p></blockquote>", "blockquote")
    picture = style_of('<p><img src="/x.png" alt="x"></p>', "img")
    for style in ("max-width:100%", "height:auto", "background-color:#d9e3e4", "font-style:italic"):
        assert style in picture


def test_data_tables_get_rules_and_layout_tables_do_not() -> None:
    heads = '<tr><th scope="col">a</th><th class="num">b</th></tr>'
    rows = f'{heads}<tr><td>c</td><td class="num">1</td></tr>'
    made = read(inline_styles(f"<table>{rows}</table>")).tags
    assert all(
        "border-bottom" in (facts["style"] or "") for tag, facts in made if tag in ("td", "th")
    )
    figures = [facts["style"] or "" for _, facts in made if facts.get("class") == "num"]
    assert len(figures) == 2
    assert all("text-align:right" in style for style in figures)
    plain = inline_styles(f'<table role="presentation">{rows}</table>')
    assert "style" not in plain


def test_words_have_room_beside_a_floating_image() -> None:
    assert "max-width:60%" in style_of('<img src="/a" align="left">', "img")
    assert "max-width:100%" in style_of('<img src="/a" align="left" width="300">', "img")


def test_author_styles_win() -> None:
    assert style_of('<p style="margin:0">x</p>', "p").endswith("margin:0")
    assert "color:#c00" in style_of("<style>p { color: #c00 }</style><p>x</p>", "p")
    kept = inline_styles("<style>@media (max-width: 9px) { p { color: red } }</style><p>x</p>")
    assert "@media (max-width: 9px)" in kept


def test_styles_are_not_read_from_other_files(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.css"
    sheet.write_text("p { color: #c0ffee }")
    for address in (sheet.as_uri(), str(sheet)):
        assert "c0ffee" not in inline_styles(f'<link rel="stylesheet" href="{address}"><p>x</p>')


@pytest.mark.parametrize(
    "piece",
    [
        "<p>{{ name|<b>you</b> & me }}</p>",
        '<p>{{ name|<a href="/x">you</a> }}</p>',
        "<p>&{{ name }};</p>",
        '<a href="{{ archive_url }}?a=1&b={{ email }}">x</a>',
        '<img src="{{{ pm:picture }}}" alt="{{ name|you & me }}">',
        "<table><tr><td>{{ name }}</td></tr></table>",
        '<p style="color:{{ name|red }}">x</p>',
        "<!--[if mso]>{{ name }}<![endif]-->",
    ],
)
def test_merge_fields_come_through_exactly(piece: str) -> None:
    fields = re.findall(r"\{+[^{}]*\}+", piece)
    assert re.findall(r"\{+[^{}]*\}+", inline_styles(piece)) == fields


def test_a_field_in_single_quotes_cannot_leave_its_attribute() -> None:
    made = inline_styles("""<a title='{{ name|"you" }}' href='/x'>x</a>""")
    assert read(made).tags[0][1]["title"] == '{{ name|"you" }}'


WORDS = ["before", "within", "after"]


@pytest.mark.parametrize(
    "broken",
    [
        'before <a href="foo>within</a> <b>after',
        "before <!-- within <p>after",
        "before <! within <p>after",
        "before <?within <p>after",
        "before <title>within <p>after",
        "before <p within <p>after",
        "before <textarea>within <p>after",
        "before <plaintext>within <p>after",
        "before <script>within <p>after",
        "before <select><option>within <p>after",
        "before </td></tr></table></div></body> within <p>after",
        "before <table><tr>within<td>after",
        "<noscript>before</noscript><iframe>within</iframe>after",
        "before <svg><text>within</svg>after",
    ],
)
def test_normalising_keeps_every_word(broken: str) -> None:
    html = mail(broken).html
    seen = "".join(read(html).words)
    for word in WORDS:
        assert word in seen
    assert "Unsubscribe" in seen[seen.index("after") :]
    letter = inline_styles(broken)
    # Mail programs do not show the title element.
    assert "<title" not in letter
    # `inline_styles` parses as a browser does. The footer is in the frame, not in the letter.
    assert inline_styles(f"<div>{letter}</div><i>foot</i>").endswith("</div><i>foot</i>")


@pytest.mark.parametrize("words", ["a < b", "c <d", '<a href="e', "<!-- f", "</ g"])
def test_unfinished_tag_becomes_text(words: str) -> None:
    assert words in "".join(read(mail(words).html).words)


def test_conditions_for_outlook_stay_comments() -> None:
    assert inline_styles("<!--[if mso]><p>x</p><![endif]-->") == "<!--[if mso]><p>x</p><![endif]-->"
    assert inline_styles("<![if !mso]>x<![endif]>") == "<!--[if !mso]><!-->x<!--<![endif]-->"


@pytest.mark.parametrize(
    "piece",
    ["<div>", "<p><font size=1>", "<ul><li>", "<div><table><td></div></table>", "<svg>", "<a '"],
)
def test_deep_nesting_keeps_the_innermost_text(piece: str) -> None:
    html = inline_styles(piece * (300_000 // len(piece)) + " <p>deepest</p>")
    assert "deepest" in html
    depth = deepest = 0
    for closes, name in re.findall(r"<(/?)([a-z][a-z:0-9]*)", html):
        depth += 0 if name in VOID else -1 if closes else 1
        deepest = max(deepest, depth)
    # Each table in the letter has four levels of elements.
    assert deepest <= 4 * MAX_DEPTH


@given(st.text(max_size=200))
def test_any_text_can_be_composed_as_a_letter(written: str) -> None:
    mail(written)


def test_overlong_letter_is_not_inlined() -> None:
    written = "<table><tr><td>a<td>b</table>" * (MAX_LENGTH // 200)
    assert len(inline_styles(written)) < len(written) * 1.1


def test_a_text_without_unsubscribe_link_gets_a_footer() -> None:
    assert mail(text="Hello {{ name|you }}\n\n").text == (
        "Hello {{ name|you }}\n\n--\n"
        "You get Ada & Friends because you subscribed as {{ email }}.\n"
        "Unsubscribe: {{ unsubscribe_url }}\n"
        "Read it on the web: {{ archive_url }}\n"
        "Ada & Friends\n1 Quay <b>, Lisbon\n"
    )


def test_footers_link_to_the_choice_of_topics_once() -> None:
    def made(html: str, text: str) -> str:
        parts = compose("T", html, text, newsletter=NEWSLETTER, site_url=SITE, has_topics=True)
        assert unknown_fields(parts.html + parts.text) == []
        return f"{parts.html}|{parts.text}"

    link = "{{ preferences_url }}"
    for html in ("<p>x</p>", DOCUMENT):
        before, _, after = made(html, "x").partition("|")
        assert before.count(link) == 1
        assert f"Unsubscribe: {{{{ unsubscribe_url }}}}\nChoose topics: {link}\n" in after
    assert made(f"<p>{link}</p>", "").count(link) == 1
    assert link not in mail("<p>x</p>", "x").html + mail("<p>x</p>", "x").text


def test_text_with_unsubscribe_link_keeps_its_words() -> None:
    text = mail(text="a\r\nb\rc {{ unsubscribe_url }}\r\n").text
    assert text == "a\nb\nc {{ unsubscribe_url }}\n"


@pytest.mark.parametrize("blank", ["", "  ", "\r\n\t\n"])
def test_an_unwritten_part_stays_empty(blank: str) -> None:
    assert mail(html=blank, text="x").html == ""
    assert mail(html="<p>x</p>", text=blank).text == ""


def test_a_missing_postal_address_is_not_invented() -> None:
    bare = Newsletter(name="Bare", postal_address="")
    made = compose("T", "<p>x</p>", "x", newsletter=bare, site_url=SITE)
    assert made.text.endswith("Read it on the web: {{ archive_url }}\n")
    assert "Bare," not in made.html

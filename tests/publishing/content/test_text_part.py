"""The text part is made from the letter, and the title becomes one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.mail.merge_fields import FIELD_PATTERN
from publishing.content.draft_content import (
    HTML,
    MARKDOWN,
    DraftFields,
    build_content,
)
from publishing.content.edition_content import Content, find_problems
from publishing.content.markdown import render_markdown
from publishing.content.text_part import DEEPEST, html_to_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (
            "<h1>Tides</h1>\n<p>High\n  <em>tide</em>&nbsp;at   <b>six</b>.</p><h3>Low</h3><p>x",
            "Tides\n=====\n\nHigh tide at six.\n\nLow\n\nx",
        ),
        ("<p>Until,<br>Edith<br></p><p>&nbsp;</p><p></p><p>x</p>", "Until,\nEdith\n\nx"),
        ("one <b>two</b><div>three</div>four", "one two\n\nthree\n\nfour"),
        ("<!doctype html><head><title>T</title></head><body><p>x</p></body>", "x"),
        ('<p><img src="/x.png" alt="Eight swifts"></p>', "Eight swifts"),
        ("<p><del>6</del> <s>7</s> <q>Eight</q></p>", "~~6~~ ~~7~~ “Eight”"),
        ("<p>caf&eacute; &lt;b&gt; &amp; &#8364;</p>", "café <b> & €"),
        ("<blockquote><p>a</p></blockquote><blockquote>b</blockquote>", "> a\n\n> b"),
        ("<p>a</p><hr><p>b</p>", "a\n\n* * *\n\nb"),
        ("<dl><dt>Swift</dt><dd>A bird.</dd></dl>", "Swift\n    A bird."),
        ("<table><caption>Swifts</caption><tr><td>a<td>b</tr></table>", "Swifts\n\na  b"),
        (
            "<table><tr><td>{{ name|x }}<td>b</tr><tr><td>c<td>d</tr></table>",
            "{{ name|x }}  b\nc             d",
        ),
        (
            "<table><tr><td><table><tr><td><p>one</p><p>two</p></table><td><p>three</table>",
            "one\n\ntwo\n\nthree",
        ),
        (render_markdown("- one\n\n  more\n\n- two"), "- one\n\n  more\n- two"),
        (render_markdown("> a  \n> b\n>\n> c\n> > d\n\ne"), "> a\n> b\n>\n> c\n>\n> > d\n\ne"),
        (render_markdown("```\nif x < 1:\n    y\n\nz\n```"), "    if x < 1:\n        y\n\n    z"),
    ],
)
def test_visible_html_becomes_lines(html: str, text: str) -> None:
    assert html_to_text(html) == text


@pytest.mark.parametrize(
    "unseen",
    [
        "<style>p { color: red }</style>",
        "<script>alert('<p>x</p>')</script>",
        "<!-- <p>x</p> -->",
        "<!--[if mso]><p>x</p><![endif]-->",
        "<title>x</title>",
        '<div style="display: none">x<p>y<p>z</div>',
        '<p style="color:red;DISPLAY:NONE">x</p>',
        "<div hidden>x</div>",
        '<img src="https://e.org/dot.gif">',
    ],
)
def test_invisible_html_is_left_out(unseen: str) -> None:
    assert html_to_text(f"<p>before</p>{unseen}<p>after</p>") == "before\n\nafter"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('<a href="https://e.org/a">The list</a>.', "The list (https://e.org/a)."),
        ('<a href="https://e.org/">https://e.org/</a>', "https://e.org/"),
        ('<a href="https://e.org/">e.org</a>', "https://e.org/"),
        ('<a href="mailto:a@e.org">a@e.org</a>', "a@e.org"),
        ('<a href="mailto:a@e.org">Write</a>', "Write (mailto:a@e.org)"),
        ('<a href=" https://e.org/a\n b c">x</a>', "x (https://e.org/a%20b%20c)"),
        ('<a href="//e.org/a">x</a>', "x (https://e.org/a)"),
        ('<a href="https://e.org/"><img src="/x.png" alt="Swifts"></a>', "Swifts (https://e.org/)"),
        ('<a href="https://e.org/"><img src="/x.png"></a>', "https://e.org/"),
        ('<a href="#notes">Notes</a>', "Notes"),
        ("<a>nowhere</a>", "nowhere"),
        ('<a href="javascript:alert(1)">x</a>', "x"),
        ('<a href="https://e.org/"><p>one</p><p>two</p></a>', "one\n\ntwo\n\n(https://e.org/)"),
    ],
)
def test_links_show_their_address_once(html: str, text: str) -> None:
    assert html_to_text(html) == text


def test_nested_and_numbered_lists_keep_their_structure() -> None:
    markdown = "Before:\n\n- one\n  1. a\n  2. b\n     - deep\n- two\n\nAfter\n\n9. nine\n10. ten"
    assert html_to_text(render_markdown(markdown)) == (
        "Before:\n\n- one\n  1. a\n  2. b\n     - deep\n- two\n\nAfter\n\n9. nine\n10. ten"
    )


def test_tables_are_columns_with_figures_at_the_right() -> None:
    table = "| Year | Last seen | Birds |\n|--|--|--:|\n| 2025 | 31 July | 12 |\n| 26 | 3 | 8 |"
    assert html_to_text(render_markdown(table)) == (
        "Year  Last seen  Birds\n"
        "----  ---------  -----\n"
        "2025  31 July       12\n"
        "26    3              8"
    )


def test_table_wider_than_a_window_has_no_columns() -> None:
    wide = "word " * 15
    html = f"<table><tr><th>A<th>B<tr><td>{wide}<td>{wide}</table>"
    assert html_to_text(html) == f"A | B\n{wide.strip()} | {wide.strip()}"


def test_fields_come_through_in_words_and_in_addresses() -> None:
    html = '<p>{{name}}, <a href="{{ archive_url }}">read {{ name|you }}</a></p>'
    assert html_to_text(html) == "{{name}}, read {{ name|you }} ({{ archive_url }})"
    assert (
        html_to_text('<a href="{{{ pm:unsubscribe }}}">Leave</a>')
        == "Leave ({{{ pm:unsubscribe }}})"
    )
    assert html_to_text('<a href="{{ archive_url }}">{{ archive_url }}</a>') == "{{ archive_url }}"


def test_a_fallback_of_html_becomes_words() -> None:
    assert html_to_text("<p>{{ name|<b>you</b> &amp; me }}</p>") == "{{ name|you & me }}"
    assert html_to_text("<p>{{ name|&#123;x&#125; }}</p>") == "{{ name|x }}"
    assert html_to_text(render_markdown("{{ name|<b> & me }}")) == "{{ name|<b> & me }}"


@pytest.mark.parametrize(
    "html",
    [
        "<svg><q>{{ name }}</q></svg>",
        "<SVG viewBox='0 0 > 9'><q>{{ name }}",
        "<math><mi><q>{{ name }}</q></mi></math>",
        "<svg><g><text><q>{{ name }}</q></text></g></svg>",
        "<svg></svg><text><q>{{ name }}</q></text>",
    ],
)
def test_words_within_a_drawing_or_a_formula_are_kept(html: str) -> None:
    assert html_to_text(html) in ("“{{ name }}”", "“{{ name }}")


@pytest.mark.parametrize("comment", ["<!-- <font size='2> -->", "<!--\n<o:p don't>\n-->"])
def test_open_quote_in_a_comment_removes_no_text(comment: str) -> None:
    html = f'{comment}<p>They have gone, it\'s quiet <b class="small">now</b>.</p><p>Ada</p>'
    assert html_to_text(html) == "They have gone, it's quiet now.\n\nAda"


FIELDS = st.sampled_from(["{{ name }}", "{{name|there}}", "{{ email }}", "{{ archive_url }}"])
TAGS = st.sampled_from(
    ["<p>", "</p>", "<b>", "</b>", "<ul>", "<li>", "</ul>", "<blockquote>", "</blockquote>", "<br>",
     "<table>", "<tr>", "<td>", "<th>", "</table>", "<pre>", "</pre>", "<h1>", "</h1>", "<hr>",
     "<a href='/x'>", "</a>", "<div>", "</div>", "word", " ", "\n", "&amp;", "&nbsp", "<", "<a ",
     "<!", "'", '"', "<dd>", "<svg>", "<q>", "<select>", "<textarea>"]
)  # fmt: skip


@given(st.lists(FIELDS | TAGS, max_size=40))
def test_every_field_survives_in_any_html(pieces: list[str]) -> None:
    html = "".join(pieces)
    if "<a " in html and ">" in html:
        return  # the field may be within a tag, which the text part omits
    assert sorted(FIELD_PATTERN.findall(html_to_text(html))) == sorted(FIELD_PATTERN.findall(html))


@given(st.text(max_size=300) | st.lists(TAGS, max_size=60).map("".join))
def test_any_html_has_a_text_part(html: str) -> None:
    html_to_text(html)


def test_deep_nesting_is_not_indented_further() -> None:
    deep = html_to_text("<blockquote>" * 100 + "<p>x</p><p>y</p>")
    assert deep.endswith("> " * DEEPEST + "y")
    assert len(deep) < 50


@pytest.mark.parametrize(("form", "letter"), [(MARKDOWN, "Hi **you**"), (HTML, "<p>Hi <b>you</b>")])
def test_empty_text_is_generated_and_written_text_is_kept(form: str, letter: str) -> None:
    written = DraftFields(title="T", format=form, letter=letter, text=" \n")
    assert build_content(written).text == "Hi you"
    assert (
        build_content(
            DraftFields(title="T", format=form, letter=letter, text="In *my* words\n")
        ).text
        == "In *my* words\n"
    )


def test_stored_words_have_plain_line_ends_and_no_control_characters() -> None:
    written = Content.from_input(
        title="On\x07 herons",
        html="<p>a\r\nb</p>",
        text="one\x0btwo\x0cthree\rfour",
        preview_text=" Qui\x1bte ",
    )
    assert written == Content(
        title="On herons", html="<p>a\nb</p>", text="one\ntwo\nthree\nfour", preview_text="Quite"
    )


def test_quotes_of_windows_1252_that_were_misread_are_repaired() -> None:
    written = Content.from_input(
        title="It\x92s \x809", html="<p>\x93Swifts\x94 \x81gone\x85</p>", text="Lou\x9fs"
    )
    assert written == Content(title="It’s €9", html="<p>“Swifts” gone\x85</p>", text="LouŸs")


# These are a line feed, a tab, a delete character, and three line ends of Unicode.
BREAKS = ["\n", "\t", "\x7f", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("sign", BREAKS)
def test_a_title_of_more_than_a_line_is_refused(sign: str) -> None:
    for field in ("title", "preview_text"):
        words = {"title": "Swifts", "text": "They have gone.", field: f"Swifts{sign}gone"}
        [flaw] = find_problems(Content.from_input(**words))
        assert (flaw.attribute.name, "more than one line" in flaw.sentence) == (field, True)


@pytest.mark.parametrize(
    "title",
    ["Мауэрзеглер", "خبر\u200cنامه", "שלום \u2068Homing\u2069", "👩\u200d🌾 in May", "A\xa0B"],
)
def test_a_title_may_be_of_any_script(title: str) -> None:
    assert find_problems(Content.from_input(title=title, text="They have gone.")) == []

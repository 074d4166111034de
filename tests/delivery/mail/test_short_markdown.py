"""A little Markdown becomes HTML and plain text; all other signs stay text."""

from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.short_markdown import has_merge_field_braces, html_paragraphs, plain_lines

# All signs but those that begin or end markup.
LETTERS = st.characters(
    codec="utf-8", exclude_categories=["Cc", "Z"], exclude_characters="\\*_[]<>"
)


@pytest.mark.parametrize(
    ("markdown", "html", "text"),
    [
        ("**Ada** & *Bram*", "<strong>Ada</strong> &amp; <em>Bram</em>", "Ada & Bram"),
        (
            '[My *site*](https://a.example/?b=c&d "T")',
            '<a href="https://a.example/?b=c&amp;d" class="q">My <em>site</em></a>',
            "My site (https://a.example/?b=c&d)",
        ),
        ("<ada@a.example>", '<a href="mailto:ada@a.example" class="q">ada@a.example</a>',
         "ada@a.example"),
        ("<https://a.example>", '<a href="https://a.example" class="q">https://a.example</a>',
         "https://a.example"),
        ("1 Quay\nTavira\\\nPT", "1 Quay<br>Tavira<br>PT", "1 Quay\nTavira\nPT"),
        ("# A\n- b", "# A<br>- b", "# A\n- b"),
        ("<b>x</b> &amp; \\*", "&lt;b&gt;x&lt;/b&gt; &amp;amp; *", "<b>x</b> &amp; *"),
        ("![i](https://a.example)", '!<a href="https://a.example" class="q">i</a>',
         "!i (https://a.example)"),
    ],
)  # fmt: skip
def test_links_and_stress_are_rendered_and_all_else_is_text(
    markdown: str, html: str, text: str
) -> None:
    assert html_paragraphs(markdown, **{"class": "q"}) == [html]
    assert "\n".join(plain_lines(markdown)) == text


@pytest.mark.parametrize("address", ["javascript:alert(1)", "/about/", "data:x", "https:a"])
def test_other_addresses_become_no_link(address: str) -> None:
    assert html_paragraphs(f"[a]({address})") == [f"[a]({address})"]


@given(st.lists(st.text(LETTERS, min_size=1), min_size=1))
def test_text_without_marks_looks_as_before(lines: list[str]) -> None:
    text = "\n".join(lines)
    shown = escape(text).replace("&#x27;", "'").replace("\n", "<br>")
    assert html_paragraphs(text) == [shown]
    assert plain_lines(text) == lines
    assert html_paragraphs(f"{text}\n\n{text}") == [shown, shown]


@pytest.mark.parametrize("markdown", ["{{ name }}", "{\\{ name }}", "{**{ name }}**", "a\n\n{{"])
def test_braces_of_merge_fields_are_found_after_rendering_too(markdown: str) -> None:
    assert has_merge_field_braces(markdown)


def test_empty_text_has_no_paragraphs_and_no_braces() -> None:
    assert (html_paragraphs(""), plain_lines(" "), has_merge_field_braces("{a}")) == ([], [], False)

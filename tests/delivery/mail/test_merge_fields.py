"""Merge fields put a reader's own words into a letter, once."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.mail.merge_fields import (
    TITLE_FIELDS,
    FieldTemplate,
    escape_braces,
    escape_html_braces,
    find_fields,
    find_html_fields,
    iter_fields,
    plain_to_html,
    unknown_fields,
    uses_field,
)
from publishing.content.edition_content import unknown_field_sentence

VALUES = {
    "name": "Ada",
    "email": "ada@example.net",
    "unsubscribe_url": "https://letter.example.org/unsubscribe/x?a=1&b=2",
    "archive_url": "https://letter.example.org/archive/tides/",
}


def as_text(text: str, **values: str) -> str:
    return FieldTemplate(text, html=False).fill(VALUES | values)


def as_html(text: str, **values: str) -> str:
    return FieldTemplate(text, html=True).fill(VALUES | values)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Hello {{ name }}!", "Hello Ada!"),
        ("Hello {{name}}!", "Hello Ada!"),
        ("Hello {{\n  name\t}}!", "Hello Ada!"),
        ("{{ name }}{{ name }}", "AdaAda"),
        ("{{ name|there }}", "Ada"),
    ],
)
def test_a_field_becomes_the_readers_value(text: str, filled: str) -> None:
    assert as_text(text) == filled


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Hello {{ name|there }}!", "Hello there!"),
        ("Hello {{ name | dear reader }}!", "Hello dear reader!"),
        ("Hello {{name|you|and you}}!", "Hello you|and you!"),
        ("Hello {{ name| }}!", "Hello !"),
        ("Hello {{ name }}!", "Hello !"),
    ],
)
def test_a_reader_without_the_value_gets_the_fallback(text: str, filled: str) -> None:
    assert as_text(text, name="") == filled


def test_value_is_escaped_in_html_but_not_in_text() -> None:
    name = "<b>\"A\" & 'B'</b>"
    assert as_html('<i title="{{ name }}">', name=name) == (
        '<i title="&lt;b&gt;&quot;A&quot; &amp; &#x27;B&#x27;&lt;/b&gt;">'
    )
    assert as_text("{{ name }}", name=name) == name


def test_a_fallback_is_the_authors_own_html() -> None:
    assert as_html("{{ name|<em>friend</em> &amp; reader }}", name="") == (
        "<em>friend</em> &amp; reader"
    )


@pytest.mark.parametrize(
    "name",
    ["{{ unsubscribe_url }}", "{{ name }}", "{{ email|x }}", "{", "}}", "{{", r"\g<0> \1 $1 %s"],
)
def test_a_value_that_looks_like_a_field_is_only_text(name: str) -> None:
    assert as_text("Hello {{ name }}, {{ email }}", name=name) == f"Hello {name}, ada@example.net"


NO_FIELDS = [
    "{{{ pm:unsubscribe }}}",
    '<a href="{{{ pm:unsubscribe }}}">',
    "{{{{ name }}}}",
    "{{ name }",
    "{{ name",
    "{ {name} }",
    "@media (max-width:480px){.a{color:red}}",
    "{% verbatim %}",
    "{{ name }}}",
    "{{{ name }}",
    "{{ {name} }}",
]


@pytest.mark.parametrize("text", NO_FIELDS)
def test_text_without_fields_is_unchanged(text: str) -> None:
    assert as_text(text) == text
    assert unknown_fields(text) == []
    assert not uses_field(text, "name")


BRACES = st.text(st.sampled_from("{}\\| nameé") | st.characters(codec="utf-8"), max_size=60)


@pytest.mark.parametrize(
    ("text", "filled", "html"),
    [
        (r"\{{ name }}", "{{ name }}", "&#123;&#123; name &#125;&#125;"),
        (r"\\{{ name }}", r"\Ada", "&#92;Ada"),
        (r"\\\{{ name }}", r"\{{ name }}", r"\&#123;&#123; name &#125;&#125;"),
        (r"\{{a}{{ name }}", "{{a}Ada", "&#123;&#123;a}Ada"),
        (r"\{{{ name }}}", "{{{ name }}}", "&#123;&#123;&#123; name &#125;&#125;&#125;"),
        (r"C:\ \n {{ name }}", r"C:\ \n Ada", r"C:\ \n Ada"),
        ("<pre>{{ name }}</pre>", "<pre>Ada</pre>", "<pre>&#123;&#123; name &#125;&#125;</pre>"),
        ("<code>{{</code>{{ name }}", "<code>{{</code>Ada", "<code>&#123;&#123;</code>Ada"),
        ('<kbd title="{{ name }}">{{', '<kbd title="Ada">{{', '<kbd title="Ada">&#123;&#123;'),
    ],
)
def test_a_backslash_makes_text_of_braces(text: str, filled: str, html: str) -> None:
    assert as_text(text) == filled
    written = escape_html_braces(text)
    assert as_html(written) == html
    assert escape_html_braces(written) == written
    assert [one[0] for one in find_html_fields(text)] == [one[0] for one in find_fields(written)]


def test_unpaired_braces_around_code_are_no_pair() -> None:
    html = escape_html_braces("{{ <pre>{{ name }}</pre> }}")
    assert as_html(html) == html == escape_html_braces(html)
    assert unescape(html) == "{{ <pre>{{ name }}</pre> }}"


@given(BRACES, BRACES)
def test_escaped_braces_are_never_read_as_fields(before: str, after: str) -> None:
    assert as_text(escape_braces(before)) == before
    assert [*iter_fields(escape_braces(before))] == []
    html = plain_to_html(f"{escape_braces(before)} {{{{ name }}}} {escape_braces(after)}")
    assert unescape(as_html(html)) == f"{before} Ada {after}"


def test_an_old_edition_keeps_its_fields_in_code() -> None:
    assert as_html(r"<code>\{{ name }}</code>") == r"<code>\Ada</code>"


def test_long_run_of_blanks_is_parsed_quickly() -> None:
    # A regular expression that tries every division of the blanks would take hours.
    text = "{{" + " " * 100_000
    assert as_text(text) == text
    assert unknown_fields(text) == []


ALLOWED = "You can use: name, email, unsubscribe_url, preferences_url, archive_url."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{{ nmae }}", "There is no merge field “{{ nmae }}”. Did you mean “{{ name }}”?"),
        ("{{ e-mail|x }}", "There is no merge field “{{ e-mail }}”. Did you mean “{{ email }}”?"),
        (
            "{{unsubscribe}}",
            "There is no merge field “{{ unsubscribe }}”. Did you mean “{{ unsubscribe_url }}”?",
        ),
        ("{{ shoe_size }}", f"There is no merge field “{{{{ shoe_size }}}}”. {ALLOWED}"),
        (
            "{{&nbsp;name }}",
            "There is no merge field “{{ &nbsp;name }}”. Did you mean “{{ name }}”?",
        ),
        ("{{}}", f"There is no merge field “{{{{  }}}}”. {ALLOWED}"),
    ],
)
def test_unknown_field_is_named_with_a_similar_known_one(text: str, sentence: str) -> None:
    assert [unknown_field_sentence(field) for field in unknown_fields(text)] == [sentence]


def test_unknown_fields_are_listed_once_in_text_order() -> None:
    text = "{{ zeta }} {{ name }} {{ alpha }} {{zeta|x}}"
    assert [(each.name, each.meant) for each in unknown_fields(text)] == [
        ("zeta", None),
        ("alpha", None),
    ]


def test_a_title_has_fewer_fields_than_a_body() -> None:
    assert unknown_fields("{{ name }} {{ email|x }}", TITLE_FIELDS) == []
    assert [field.name for field in unknown_fields("{{ unsubscribe_url }}", TITLE_FIELDS)] == [
        "unsubscribe_url"
    ]
    assert unknown_fields("{{ unsubscribe_url }}") == []
    assert [
        unknown_field_sentence(field) for field in unknown_fields("{{ shoe_size }}", TITLE_FIELDS)
    ] == ["There is no merge field “{{ shoe_size }}”. You can use: name, email."]


def test_a_very_long_unknown_field_is_not_shown_whole() -> None:
    (field,) = unknown_fields("{{ " + "long " * 10_000 + "}}")
    assert len(unknown_field_sentence(field)) < 150


@pytest.mark.parametrize(
    ("text", "is_used"),
    [
        ("{{ unsubscribe_url }}", True),
        ("{{unsubscribe_url|#}}", True),
        ("{{ unsubscribe_urls }}", False),
        ("unsubscribe_url", False),
        ("{{{ unsubscribe_url }}}", False),
    ],
)
def test_uses_field_detects_a_field(text: str, is_used: bool) -> None:
    assert uses_field(text, "unsubscribe_url") is is_used

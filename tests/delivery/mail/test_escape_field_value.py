"""Wherever a field is, its value never becomes a tag, attribute, script or style."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.issue_attributes import LETTER
from delivery.mail.escape_field_value import Place
from delivery.mail.merge_fields import FieldTemplate, fields_in_code
from delivery.mail.message_json_template import Slot
from publishing.content.edition_content import Content, find_problems

VALUES = {
    "name": "x onclick=f() y='z' <b>",
    "website": " java\nscript:f()",
    "colour": "dark red",
    "archive_url": "https://l.example.org/tides/",
}
NAME = "x onclick=f() y=&#x27;z&#x27; &lt;b&gt;"


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("<img alt={{ name }} id=a>", f'<img alt="{NAME}" id=a>'),
        ("<a href=/{{ colour }}/>", '<a href="/dark%20red/">'),
        ("<i title=a\"{{ name }}b>", f'<i title="a&quot;{NAME}b">'),
        ("<i title='a'b title={{ name }}>", f"<i title='a'b title=\"{NAME}\">"),
        ("<i title='{{ nick|it's }}'>", "<i title='it&#x27;s'>"),
        ("<!--[if mso]><i a={{ name }}><![endif]-->", f'<!--[if mso]><i a="{NAME}"><![endif]-->'),
        ("<title>{{ name }}</title>", f"<title>{NAME}</title>"),
        ("<!-- {{ name|a }} -->{{ name }}", f"<!-- a -->{NAME}"),
        ('<a href="{{ website }}">', '<a href="">'),
        ('<a href="{{ archive_url }}">', '<a href="https://l.example.org/tides/">'),
        ("<style>b{color:{{ name|red }}}", "<style>b{color:{{ name|red }}}"),
        ("<style>b{color:{{ name|red }} }", "<style>b{color:red }"),
        ("<p style=color:{{ colour }}>", '<p style="color:dark red">'),
        ("<p style='x:url({{ colour }})'>", "<p style='x:url(dark%20red)'>"),
        ("<p style='x:url({{ website }})'>", "<p style='x:url()'>"),
        ("<p style='x:url(/{{ colour }})'>", "<p style='x:url(/dark%20red)'>"),
        ('<script>"{{ archive_url }}"</script>', '<script>"https://l.example.org/tides/"</script>'),
    ],
)  # fmt: skip
def test_a_value_is_written_for_its_place(written: str, filled: str) -> None:
    assert FieldTemplate(written, html=True).fill(VALUES) == filled
    assert fields_in_code(written) == []


@pytest.mark.parametrize(
    "written",
    [
        *("<a {{ name }}>", "<a {{ name }}=b>", "<h{{ name }}>", "<{{ name }}>", "</{{ name }}>"),
        *('<a onclick="{{ name }}">', "<i srcdoc='{{ name }}'>", "<script>{{ name }}</script>"),
        *('<a href="java&#115;cript:{{ name }}">', '<img src="data:text/html,{{ name }}">'),
        *("<title><i {{ name }}></title>", "<!--[if mso]><a {{ name }}><![endif]-->"),
    ],
)
def test_a_field_in_code_is_refused_and_not_filled(written: str) -> None:
    assert FieldTemplate(written, html=True).fill(VALUES) == written.replace("{{ name }}", "")
    (problem,) = find_problems(Content.from_input(title="T", html=f"<p>{written}"))
    assert problem.attribute is LETTER
    assert "A value of “{{ name }}” would be code" in problem.sentence


class _Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(" ".join((tag, *(name for name, _ in attrs))))


@given(st.text(st.sampled_from("ab =/>\"'`<!-&;\n") | st.characters(codec="utf-8")))
def test_no_value_adds_a_tag_or_an_attribute(value: str) -> None:
    html = (
        "<a href={{ name }} title={{ name }}x b='{{ name }}'>{{ name }}"
        "<i {{ name }} c=d><h{{ name }}>"
        '<!--{{ name }}> <u>--><textarea>{{ name }}</textarea><p style="color:{{ name }}">'
    )
    found = _Tags(FieldTemplate(html, html=True).fill({"name": value})).found
    assert found == ["a href title b", "i c", "h", "textarea", "p style"]


def test_a_batch_writes_values_for_their_places() -> None:
    slot = Slot("name", in_html=True, fallback="-", place=Place.CSS)
    assert slot.write(["red", "a;b", ""]) == [b"red", b"-", b"-"]
    assert Slot("name", in_html=True, place=Place.BEGINNING).write(["data:,a", "/&"]) == [
        b"",
        b"/&amp;",
    ]

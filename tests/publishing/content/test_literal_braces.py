"""Braces that are text stay as they were written, in mail, text part and archive."""

from html import unescape

import pytest
from django.utils.html import strip_tags
from hypothesis import given
from hypothesis import strategies as st

from delivery.mail.html_and_text import compose
from delivery.mail.merge_fields import FieldTemplate, escape_braces
from delivery.models import Newsletter
from publishing.content.draft_content import DraftFields, build_content, fields_of
from publishing.content.sanitise_html import render_public_issue
from publishing.content.summary import summarise
from publishing.content.word_count import count_words

VALUES = {"name": "Ada", "user.name": "wrong", "x": "wrong", "a": "wrong"}
CODE = "${{ secrets.X }} {% if %}{{ x }} \\frac{{a}}{b} src='/static/app.js'"


def shown(form: str, letter: str, title: str = "T") -> dict[str, str]:
    content = build_content(DraftFields(title=title, format=form, letter=letter))
    mail = compose(
        content.title, content.html, content.text, newsletter=Newsletter(name="N"), site_url=""
    )
    archive = render_public_issue(
        content.plain_title, content.html, "", leave_url="", choose_url="", archive_url=""
    )
    html = FieldTemplate(mail.html, html=True).fill(VALUES)
    return {
        "mail": unescape(strip_tags(html[html.index("<h1") :])),
        "text": FieldTemplate(mail.text, html=False).fill(VALUES),
        "archive": unescape(strip_tags(archive)),
        "summary": summarise(content.html, content.text),
    }


@pytest.mark.parametrize(
    ("form", "letter", "words"),
    [
        ("markdown", f"Code `{CODE}`", CODE),
        ("markdown", f"Code\n\n```\n{CODE}\n```", CODE),
        ("html", f"<p>Code</p><pre>{CODE}</pre>", CODE),
        ("markdown", "A &#123;&#123; user.name &#125;&#125;", "{{ user.name }}"),
        ("html", "<p>&lbrace;&lcub; user.name &#x7d;}</p>", "{{ user.name }}"),
        ("markdown", r"A \{{ user.name }}", "{{ user.name }}"),
        ("html", r"<p>\{{ user.name }}</p>", "{{ user.name }}"),
        ("markdown", "A {{{{ x }}}} b", "{{{{ x }}}}"),
        ("html", r"<html><body><p>\{{ x }}</p><code>{{ a }}</code>", "{{ x }}"),
        ("html", "<p>&amp;#123;&amp;#123; x }}</p>", "&#123;&#123; x }}"),
    ],
)
def test_code_entities_and_escaped_braces_arrive(form: str, letter: str, words: str) -> None:
    for place, text in shown(form, letter.replace("<html>", "<html><h1>T</h1>")).items():
        if not (place == "summary" and "\n\n" in letter) and not (
            place == "summary" and "<pre>" in letter
        ):
            assert words in text, place


def test_an_escaped_title_is_the_same_in_mail_and_archive() -> None:
    content = build_content(
        DraftFields(title=r"\{{ x }} for {{ name|you }}", format="html", letter="<p>a")
    )
    assert content.plain_title == "{{ x }} for you"
    assert "{{ x }} for Ada" in shown("html", "<p>a", content.title)["mail"]


@given(st.text(st.sampled_from("{}\\ abx.é")), st.sampled_from(["", "{{ name }}"]))
def test_any_escaped_text_arrives_as_written(text: str, field: str) -> None:
    words = " ".join(f"a{text}b".split())
    letter = f"<p>{escape_braces(words)} {field}</p>"
    for place, found in shown("html", letter).items():
        expected = f"{words} {'Ada' if place in ('mail', 'text') else ''}" if field else words
        assert expected.strip() in found, place


def test_fields_of_a_draft_are_those_outside_code() -> None:
    markdown = "`{{ a }}`\n\n{{ a }} \\{{ b }}\n\n    {{ c }}\n\n[x](/?y={{ d|e f }})"
    found = [*fields_of(DraftFields(title="", format="markdown", letter=markdown))]
    assert [(one[0], one.start()) for one in found] == [("{{ a }}", 11), ("{{ d|e f }}", 50)]
    html = r"<pre>{{ a }}</pre>{{ a }}\{{ b }}"
    assert [
        one.start() for one in fields_of(DraftFields(title="", format="html", letter=html))
    ] == [18]


def test_escaped_braces_count_as_words() -> None:
    assert count_words(r"\{{ user name }} {{ name }} {{ archive_url }}") == 3


def test_a_rooted_link_leads_to_the_site_in_the_text(settings: object) -> None:
    settings.SITE_URL = "https://letters.example.org"  # type: ignore[attr-defined]
    content = build_content(
        DraftFields(title="T", format="markdown", letter="[the archive](/archive/)")
    )
    assert content.text == "the archive (https://letters.example.org/archive/)"

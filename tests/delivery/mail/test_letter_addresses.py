"""Values in URLs are encoded, and URLs that begin with a slash lead to the site."""

from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.mail.html_and_text import compose
from delivery.mail.letter_addresses import complete_rooted
from delivery.mail.merge_fields import FieldTemplate
from delivery.models import Newsletter

VALUES = {
    "name": "Ada Whitlock",
    "email": "tom&jerry+a#1@post.example",
    "website": "https://ada.example/",
    "archive_url": "https://l.example.org/tides/",
}
EMAIL = "tom%26jerry%2Ba%231%40post.example"
SURVEY = "https://survey.example.org/s?e={{ email }}&n={{ name|dear friänd & co }}"
SITE = "https://letters.example.org"


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        (SURVEY, f"https://survey.example.org/s?e={EMAIL}&n=Ada%20Whitlock"),
        ("({{ website }}?e={{ email }})", f"(https://ada.example/?e={EMAIL})"),
        ("{{ archive_url }}?e={{ email }}", f"{VALUES['archive_url']}?e={EMAIL}"),
        ("mailto:ed@x.org?subject=Hi%20{{ name }}", "mailto:ed@x.org?subject=Hi%20Ada%20Whitlock"),
        ("mailto:{{ email }}", "mailto:tom%26jerry+a%231@post.example"),
        (
            "https://x.org/?u={{ archive_url }}",
            "https://x.org/?u=https%3A%2F%2Fl.example.org%2Ftides%2F",
        ),
        ("{{ website }}", "https://ada.example/"),
        ("https://x.org/ {{ name }}", "https://x.org/ Ada Whitlock"),
        ("看https://x.org/，{{ name }}", "看https://x.org/，Ada Whitlock"),
        ("{{ name }}?={{ name }}", "Ada Whitlock?=Ada%20Whitlock"),
        ("Hi {{ name }}, 2={{ name }}", "Hi Ada Whitlock, 2=Ada Whitlock"),
        (
            "https://x.org/{{{ pm:unsubscribe }}}{{ name }}",
            "https://x.org/{{{ pm:unsubscribe }}}Ada%20Whitlock",
        ),
    ],
)
def test_values_in_addresses_are_encoded_in_text_and_html(written: str, filled: str) -> None:
    assert FieldTemplate(written, html=False).fill(VALUES) == filled
    in_html = FieldTemplate(written.replace("&", "&amp;"), html=True).fill(VALUES)
    assert unescape(in_html) == filled
    columns = {name: [value] for name, value in VALUES.items()}
    assert FieldTemplate(written, html=False).fill_rows(columns, 1) == [filled]


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ('<a href="/s?n={{ name }}">', '<a href="/s?n=Ada%20Whitlock">'),
        ("<a href=/s?n={{ name }}>", '<a href="/s?n=Ada%20Whitlock">'),
        ("<a href=' {{ website }}'>", "<a href=' https://ada.example/'>"),
        ('<img src="cid:{{ email }}">', '<img src="cid:tom%26jerry+a%231@post.example">'),
        (
            '<img srcset="{{ website }} 1x, /{{ name }} 2x">',
            '<img srcset="https://ada.example/ 1x, /Ada%20Whitlock 2x">',
        ),
        (
            '<!--[if mso]><v:rect href="/?n={{ name }}"><![endif]-->',
            '<!--[if mso]><v:rect href="/?n=Ada%20Whitlock"><![endif]-->',
        ),
        (
            '<td background="x.png?{{ name }}" title="/{{ name }}">',
            '<td background="x.png?Ada%20Whitlock" title="/Ada Whitlock">',
        ),
        (
            "<td style=\"background:url('https://x.org/{{ name }}')\">",
            "<td style=\"background:url('https://x.org/Ada%20Whitlock')\">",
        ),
        ("<b title=\"href='\">{{ name }}'</b>", "<b title=\"href='\">Ada Whitlock'</b>"),
        ("<style>a[href='/{{ name }}']{}</style>", "<style>a[href='/Ada Whitlock']{}</style>"),
        ('<a href="/?{{ nick|a &amp; ü }}">', '<a href="/?a%20%26%20%C3%BC">'),
    ],
)
def test_attributes_tell_where_addresses_are(written: str, filled: str) -> None:
    assert FieldTemplate(written, html=True).fill(VALUES) == filled


@pytest.mark.parametrize("fallback", ["me+you@x.org", "50% off", "a&b=c#d", "ü%20"])
def test_a_fallback_in_an_address_is_encoded_like_a_value(fallback: str) -> None:
    filled = FieldTemplate(f"https://x.org/?n={{{{ nick|{fallback} }}}}", html=False).fill({})
    assert parse_qs(urlsplit(filled).query) == {"n": [fallback]}


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_the_query_of_a_link_gives_any_value_back(value: str) -> None:
    written = "https://x.org/?a=1&n={{ name }}&z=2"
    values = {"name": value}
    text = FieldTemplate(written, html=False).fill(values)
    tag = FieldTemplate(f'<a href="{written.replace("&", "&amp;")}">', html=True).fill(values)
    for address in (text, unescape(tag.split('"')[1])):
        assert parse_qs(urlsplit(address).query) == {"a": ["1"], "n": [value], "z": ["2"]}


@pytest.mark.parametrize(
    ("written", "completed"),
    [
        ("<a href=/a>", f"<a href={SITE}/a>"),
        ("<IMG SRC = ' /a'>", f"<IMG SRC = ' {SITE}/a'>"),
        ('<img srcset="/a 1x, //b 2x,/c">', f'<img srcset="{SITE}/a 1x, https://b 2x,{SITE}/c">'),
        (
            '<!--[if mso]><v:fill src="/a"><![endif]-->',
            f'<!--[if mso]><v:fill src="{SITE}/a"><![endif]-->',
        ),
        (
            "<td style=\"background:url(/a),url('//b'),url(&quot;/c&quot;)\">",
            f"<td style=\"background:url({SITE}/a),url('https://b'),url(&quot;{SITE}/c&quot;)\">",
        ),
        (
            "<style>@import '/a';b{x:URL( \"/c\" )}/* url(/d) */i{y:'url(/e)'}",
            f"<style>@import '{SITE}/a';b{{x:URL( \"{SITE}/c\" )}}/* url(/d) */i{{y:'url(/e)'}}",
        ),
        ("<pre title='url(/a)'>url(/b)</pre>", "<pre title='url(/a)'>url(/b)</pre>"),
        ("<a href=/>x</a>", f"<a href={SITE}/>x</a>"),
        ("<a href =\n/>x</a>", f"<a href =\n{SITE}/>x</a>"),
        ("<br />x</p>", "<br />x</p>"),
        ("<code>src='/static/app.js'</code>", "<code>src='/static/app.js'</code>"),
        ("<p title=\"href='/a'\">href='/a'", "<p title=\"href='/a'\">href='/a'"),
        (
            "<script>src='/a'</script><!-- <a href='/a'> -->",
            "<script>src='/a'</script><!-- <a href='/a'> -->",
        ),
    ],
)
def test_only_addresses_of_tags_are_completed(written: str, completed: str) -> None:
    assert complete_rooted(written, SITE) == completed
    document = compose(
        "T", f"<html>{written}", "", newsletter=Newsletter(name="N"), site_url=SITE
    ).html
    assert completed in document


@pytest.mark.parametrize(
    "piece",
    [
        *("<a href='", '<a "', "<!--", "<!", "<script>", "<a href=/", "https://", "srcset=,"),
        *(
            "<a b=c",
            "<!--[if a]>",
            "<title>",
            "</",
            "<style>url(",
            "<p style='/*",
            "<p style=url('",
        ),
        pytest.param("".join(map(chr, range(0xE000, 0xA0000))), id="all_signs"),
    ],
)
def test_scanning_a_hostile_letter_takes_linear_time(piece: str) -> None:
    # A regular expression that tries every end for every beginning would take hours.
    letter = piece * (600_000 // len(piece)) + "{{ name }}"
    assert complete_rooted(letter, SITE).count(SITE) <= letter.count("=/")
    filled = FieldTemplate(letter, html=True).fill({})
    assert filled.replace('"', "") == letter[: -len("{{ name }}")].replace('"', "")

"""Anchors, images and addresses of a letter on pages and in the feed."""

import re

import pytest

from publishing.content.finish_sanitised_tags import absolute_addresses, align_by_class, finish_tags
from publishing.content.sanitise_html import render_public_issue, sanitise_html

PAGE = "https://letter.example.org/archive/swifts/"


def anchors(html: str) -> tuple[list[str], list[str]]:
    """Return the ids and the targets of internal links, without the letter's prefix."""
    short = re.sub(r"at-[0-9a-f]{8}-", "at-", html)
    return re.findall(r' id="([^"]*)"', short), re.findall(r' href="#([^"]*)"', short)


@pytest.mark.parametrize(
    ("letter", "ids", "targets"),
    [
        ('<h2 id="main">x</h2><a href="#main">x</a>', ["at-main"], ["at-main"]),
        ('<a name="email">x</a><a href="#email">x</a>', ["at-email"], ["at-email"]),
        ('<a name="n" id="i">x</a><a href="#n">x</a>', ["at-i"], ["at-i"]),
        ('<section id="s"><p>x</p></section><a href="#s">x</a>', ["at-s"], ["at-s"]),
        ('<p id="für">x</p><a href="#f%C3%BCr">x</a>', ["at-für"], ["at-für"]),
        ('<p id="f%C3%BC">x</p><a href="#f%C3%BC">x</a>', ["at-f%C3%BC"], ["at-f%C3%BC"]),
        ('<p id="a b">x</p><p id="a-b">x</p><a href="#a-b">', ["at-a-b", "at-a-b-1"], ["at-a-b-1"]),
        ('<p id="a">x</p><p id="a">x</p>', ["at-a"], []),
        ('<p id="&quot;><i>">x</p>', ["at--i-"], []),
        (f'<p id="{"a" * 101}">x</p>', [f"at-{'a' * 100}"], []),
        ('<a href="#top">x</a><a href="#">x</a>', [], ["top", ""]),
    ],
)
def test_ids_get_a_prefix_and_links_follow(letter: str, ids: list[str], targets: list[str]) -> None:
    shown = sanitise_html(letter)
    assert anchors(shown) == (ids, targets)
    assert sanitise_html(shown) == shown


def test_link_to_an_unknown_id_keeps_its_words() -> None:
    letter = '<p><a href="#gone">Words</a>, <a href="javascript:x">more</a></p>'
    assert sanitise_html(letter) == "<p><span>Words</span>, <span>more</span></p>"


def test_image_without_an_address_keeps_its_words() -> None:
    letter = '<p>x<img alt="A &lt;swift&gt;"><img src="http://x.org/a.png" alt="b">'
    letter += '<img src=" "></p>'
    assert sanitise_html(letter) == "<p>xA &lt;swift&gt;b</p>"
    assert finish_tags('<img alt="<i>&quot;">') == '&lt;i&gt;"'


def test_ids_differ_between_letters_and_outlast_a_correction() -> None:
    def shown(words: str, page: str) -> str:
        urls = {"leave_url": "", "choose_url": "", "archive_url": page}
        found = re.search('id="([^"]*)"', render_public_issue("x", words, "", **urls))
        assert found
        return found[1]

    first = shown('<p id="a">x</p>', PAGE)
    assert first == shown('<p>Corrected</p><p id="a">x</p>', PAGE)
    assert first != shown('<p id="a">x</p>', f"{PAGE}b/")
    assert sanitise_html('<p id="a">x</p>') != sanitise_html('<p id="a">y</p>').replace("y", "x")


def test_a_link_to_the_letters_own_page_reaches_the_id() -> None:
    urls = {"leave_url": "", "choose_url": "", "archive_url": PAGE}
    letter = '<p id="a">x<a href="{{ archive_url }}#a">y</a><a href="{{ archive_url }}#b">z</a>'
    shown = render_public_issue("Swifts", letter, "", **urls)
    assert anchors(shown) == (["at-a"], ["at-a"])
    assert f'href="{PAGE}#b"' in shown


def test_link_to_a_dropped_title_keeps_its_words() -> None:
    urls = {"leave_url": "", "choose_url": "", "archive_url": PAGE}
    letter = '<h1 id="a">Swifts</h1><a href="#a">x</a>'
    assert render_public_issue("Swifts", letter, "", **urls) == "<span>x</span>"


@pytest.mark.parametrize(
    ("address", "absolute"),
    [
        ("#a", f"{PAGE}#a"),
        ("/pictures/a.png", "https://letter.example.org/pictures/a.png"),
        ("about.html?a=1&amp;b", f"{PAGE}about.html?a=1&amp;b"),
        ("//x.org/a", "https://x.org/a"),
        ("https://x.org/a?", "https://x.org/a?"),
        ("mailto:a@x.org", "mailto:a@x.org"),
        ("data:image/png;base64,AA", "data:image/png;base64,AA"),
        ("//[", "//["),
    ],
)
def test_addresses_become_absolute(address: str, absolute: str) -> None:
    html = f'<p title="&quot; src=&quot;/x&quot;"> href="/x" <img alt=" src=" src="{address}"></p>'
    assert absolute_addresses(html, PAGE) == html.replace(f'"{address}"', f'"{absolute}"')


def test_aligned_image_has_a_class_on_pages() -> None:
    assert 'align="left"' in sanitise_html('<img align="LEFT" src="/a">')
    assert align_by_class('<img align="left" src="/a">') == '<img class="left" src="/a">'

"""Letters in invalid HTML keep the links and words that an HTML parser finds."""

import re

import nh3
import pytest

from delivery.mail.normalise_html import normalise
from publishing.preflight.parse_letter import ParsedLetter

END = '<p><a href="https://x.example/leave">Leave</a> <a href="https://x.example/shop">Shop</a></p>'
MSO = "<!--[if mso]><table><tr><td><![endif]--><div>{}</div><!--[if mso]></table><![endif]-->"
LETTERS = {
    "unclosed font": '<p><font face="Arial">Part i</p>' * 10,
    "fonts that differ": "".join(f'<p><font color="#{n}">Part {n}</p>' for n in range(30)),
    "unclosed b in cells": f"<table>{'<tr><td><b>Item</td></tr>' * 12}</table>",
    "cells that end nothing": f"<table>{'<tr><td><b>Item<td><i>x' * 12}</table>",
    "unclosed b in items": f"<ul>{'<li><b>Item' * 12}</ul>",
    "anchors": "".join(f'<a name="s{n}"><h2>Part</h2><p>Text</p>' for n in range(12)),
    "unclosed links": "".join(f'<p><a href="https://x.example/{n}">Part</p>' for n in range(12)),
    "nested fonts": "".join(f"<font size={n}>x" for n in range(12)) + END + "</font>" * 12,
    "many elements": "<div>" * 250,
    "many spans": "<p><span>x" * 250,
    "nested tables": "<table><tr><td><b>x" * 12 + "</table>" * 12,
    "formatting in Outlook's table": MSO.format("<b>x<p>" * 12),
    "tags that cross": "<b><i>one<p>two</b>three</i>" * 12,
    "an address with an equals sign": "<a href=https://x.example/a/b?x=1&y=2>l</a>",
    "a quote too many": '<a href="https://x.example/q"" >l</a> "more"',
    "inches": '<img alt="15" screen"><a title=it\'s href="https://x.example/t">l</a>',
}  # fmt: skip


def seen(html: str) -> tuple[list[str], str]:
    """Return the link addresses in the HTML, and its text without white space."""
    clean = nh3.clean(html, tags={"a"}, attributes={"a": {"href"}}, link_rel=None)
    links = dict.fromkeys(re.findall(r'<a href="([^"]*)"', clean))
    return list(links), "".join(re.sub(r"</?a[^>]*>", "", clean).split())


@pytest.mark.parametrize("kind", LETTERS)
def test_a_sloppy_letter_keeps_its_links_and_words(kind: str) -> None:
    letter = LETTERS[kind] + END

    assert seen(normalise(letter)) == seen(letter)
    assert "https://x.example/shop" in [link.address for link in ParsedLetter(letter).links]

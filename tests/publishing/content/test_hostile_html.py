"""Every parser of authors' texts takes linear time."""

import gc
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from delivery.mail import inline_css
from delivery.mail.colours_and_typefaces import look_of
from delivery.mail.html_and_text import compose
from delivery.mail.inline_css import MAX_LENGTH
from delivery.mail.merge_fields import MAX_UNKNOWN_FIELDS, FieldTemplate, unknown_fields
from delivery.mail.normalise_html import MAX_TAGS, normalise
from delivery.models import Newsletter
from publishing.content.markdown import render_markdown
from publishing.content.sanitise_html import render_public_issue, sanitise_html
from publishing.content.summary import summarise
from publishing.content.text_part import html_to_text
from publishing.content.word_count import count_words, estimate_word_count
from publishing.images.strip_gif_metadata import strip_gif_metadata
from publishing.past_issues.clean_letter import clean_letter
from publishing.past_issues.past_issue import Product, SkipIssueError
from publishing.preflight.parse_letter import Link, ParsedLetter
from tests.publishing.preflight.context_factory import found

SHORT, LONG = 10_000, 40_000
# With four times the text, a linear parser needs four times the time. The tests allow up to
# `MOST_GROWTH` times the time, because the clock is not exact. Times below `FLOOR_S` vary too much
# to be compared.
MOST_GROWTH, FLOOR_S = 10, 0.02

# Each test letter repeats one of these pieces. In each repetition `#` becomes another number, and
# `¬` becomes a space.
HTML = """
<a b=" | <a b=' | <a b= | <a¬ | <a/ | </a b=" | <a href= | <a href="x" | <img src=" | <p style="
<!-- | <!- | <!--> | <!--x--!> | <!-- - | <! | <![CDATA[ | <![CDATA[]] | <![if | <!--[if mso]> | <?
<?xml | <!doctype | <!doctype html " | < | </ | > | & | &amp | &# | &#x | " | <a:
<div> | <b> | <b><i></b> | <b><p></b> | <a><b><p></a> | <font size=#>x<p> | </div> | </p> | </br>
<table> | <table>x | <table><tr><td>x | <td> | <table><a href="x"> | <tr><td>x</td><td>y</td></tr>
<style> | <style>a{color:red}</style> | <style>a{ | <style>/* | <script> | <script><!-- | <title>
</title | <textarea> | <plaintext> | <select> | <option> | <svg> | <svg><desc> | <math><mi>
<td><font size=#><div> | <li><font size=#><a href="#">x
<body a#=1> | <form> | <ul><li> | <blockquote><p>x | <h1>x</h1> | <p>x | <br> | <img src="x#">
{{ | {{ name| | {{{ | {{ f# }} | <a href="{{ f# }}">x</a> | {{ name|<b> }} | TODO | *|A | %%a
<a href="https://x.org/#">x</a> | <a href="x#">x</a> | http:// | a. | a' | \0 | <template>
<p class="button"> | <p class="button"><a href="x">x | <p id="a#"> | <a name="a#" href="x/a#">x
<div class="captioned-button-wrap"><p> | <p class="button-wrapper"> | <a class="kg-btn" href="x">x
<a class="footnote-number"> | <a class="footnote-anchor"><sup>1 | <sup><sup>1</sup>
"""
MARKDOWN = """
[ | ] | [] | []( | [a]( | ![ | ![a]( | ![[]( | * | ** | *a | **a | a**b | *_ | **x* | _ | ` | `a``
~~a | < | <a | <http: | <!-- | > | >~ | > - | - a~ | 1. a~ | # a~ | ```~ | [a#]: x~ | [a]: x " | |a~
a|b~-|-~ | -~ | =~ | a~=~ | \\ | & | ~ | a~~ | [a](b " | [a](< | [a][ | ***a
a*** | {{ f# }}~~ | {{ f# }}
![](x){width=1 | [](x){.button}~~ | [^ | [^a] | [^a#]:¬x~~[^a#]~~ | >¬[^a]:
"""


def whole(length: int) -> dict[str, str]:
    """Return hostile letters that do not just repeat one piece."""
    return {
        "attributes": f"<a {' '.join(f'a{n}=1' for n in range(length // 8))}>x</a>",
        "blanks in a tag": f"<a {' ' * length}",
        "siblings": f"<style>{'p~p{color:red}' * (length // 28)}</style>{'<p>x' * (length // 8)}",
        "properties": "<style>p{{{}}}</style>{}".format(
            "".join(f"--a{n}:b;" for n in range(length // 16)), "<p>x" * (length // 8)
        ),
        "selectors": f"<style>{','.join(f'.c{n}' for n in range(length // 7))}{{margin:0}}</style>",
        "brackets": f'<p style="{"(" * length}">x',
        "cells": "<table><tr><td>x" * (length // 32) + "</td></tr></table>" * (length // 32),
    }


def repeated(kind: str, length: int) -> str:
    kind = kind.replace("¬", " ")
    count = length // len(kind)
    if "#" in kind:
        return "".join(kind.replace("#", str(number)) for number in range(count))
    return kind * count


def html_letters(length: int) -> dict[str, str]:
    kinds = [kind for line in HTML.strip().splitlines() for kind in line.split(" | ")]
    return {kind: repeated(kind, length) for kind in kinds} | whole(length)


def markdown_letters(length: int) -> dict[str, str]:
    kinds = [kind for line in MARKDOWN.strip().splitlines() for kind in line.split(" | ")]
    letters = {kind: repeated(kind.replace("~", "\n"), length) for kind in kinds}
    depth = int(length**0.5)
    return letters | {
        "quotes": "".join(">" * n + " a\n" for n in range(depth)),
        "lists": "".join(" " * 2 * n + "- a\n" for n in range(depth)),
        "ticks": "".join("`" * n + " " for n in range(depth)),
        "columns": f"{'|a' * (length // 8)}|\n{'|-' * (length // 8)}|\n" + "|\n" * (length // 4),
        "lazy quote": ">" * (length // 4) + "a\n" * (length // 4),
    }


def _mail(letter: str) -> object:
    newsletter = Newsletter(name="Tides", postal_address="1 Quay", language="en")
    return compose("Tides", letter, letter, newsletter=newsletter, site_url="https://x.example")


def _moved_in(product: Product, letter: str) -> object:
    with suppress(SkipIssueError):
        return clean_letter(product, letter, lambda address: (address, 0, 0), "x")
    return None


PARSERS: dict[str, Callable[[str], object]] = {
    "made sound": normalise,
    "read for the check sheet": ParsedLetter,
    "check sheet": found,
    "text part": html_to_text,
    "archive": lambda letter: render_public_issue(
        "x", letter, "", leave_url="/", choose_url="/", archive_url="/"
    ),
    "archive of text": lambda letter: render_public_issue(
        "x", "", letter, leave_url="/", choose_url="/", archive_url="/"
    ),
    "feed": sanitise_html,
    "moved in from Substack": lambda letter: _moved_in(Product.SUBSTACK, letter),
    "moved in from Ghost": lambda letter: _moved_in(Product.GHOST, letter),
    "summary": lambda letter: summarise(letter, letter),
    "mail and preview": _mail,
    "merge fields": lambda letter: FieldTemplate(letter, html=True).fill({"name": "Ada"}),
    "words": lambda letter: (count_words(letter), estimate_word_count(letter)),
}


def _seconds(parse: Callable[[str], object], letter: str) -> float:
    normalise.cache_clear()
    # Garbage collection would disturb the measurement: it also visits objects of other tests.
    gc.disable()
    try:
        begun = time.process_time()
        parse(letter)
        return time.process_time() - begun
    finally:
        gc.enable()


def _grows_too_fast(parse: Callable[[Any], object], short: Any, long: Any) -> bool:
    """Return whether the time grows too fast in all of five tries.

    Five tries are needed, because other processes may slow down some of them.
    """
    return all(
        _seconds(parse, long) > MOST_GROWTH * max(_seconds(parse, short), FLOOR_S) for _ in range(5)
    )


@pytest.mark.parametrize("parser", PARSERS)
def test_time_grows_linearly_on_hostile_html(parser: str) -> None:
    short, long = html_letters(SHORT), html_letters(LONG)
    assert [k for k in long if _grows_too_fast(PARSERS[parser], short[k], long[k])] == []


def test_time_grows_linearly_on_hostile_markdown() -> None:
    short, long = markdown_letters(SHORT), markdown_letters(LONG)
    assert [
        kind for kind in long if _grows_too_fast(render_markdown, short[kind], long[kind])
    ] == []


@pytest.mark.parametrize("block", [b",~~~~~~~~\0\2\0", b"!~\0", b"!\xf9\0", b"!~\1a\1a\1a\1a\0"])
def test_time_grows_linearly_on_hostile_animations(block: bytes) -> None:
    short, long = (b"GIF89a" + bytes(7) + block * number + b";" for number in (100_000, 400_000))
    assert not _grows_too_fast(strip_gif_metadata, short, long)


def test_a_too_expensive_style_sheet_is_not_inlined() -> None:
    """To apply every rule to every tag would take hours and produce gigabytes."""
    letter = whole(300_000)["properties"]

    made = inline_css.inline_styles(letter, look_of(Newsletter()))

    assert len(made) < MAX_LENGTH
    assert "--a1:b;" in made
    assert made.count("<p>x") == letter.count("<p>x")


def test_the_text_of_tags_beyond_the_limit_is_kept() -> None:
    made = normalise("<p>one two</p>" * MAX_TAGS)

    assert made.count("<p>") < MAX_TAGS
    assert made.split().count("two") + made.count("two</p>") == MAX_TAGS


def test_only_the_first_unknown_fields_are_named() -> None:
    text = repeated("{{ f# }}", 100_000)

    assert [field.name for field in unknown_fields(text)] == [
        f"f{n}" for n in range(MAX_UNKNOWN_FIELDS)
    ]


def test_address_is_parsed_in_its_written_form() -> None:
    letter = ParsedLetter("""<a href='/?a=1&copy=2&amp;b="{{ name|"x" }}'>it&amp;s</a>""")

    assert letter.links == [Link('/?a=1&copy=2&b="{{ name|"x" }}', "it&s")]

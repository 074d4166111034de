"""
What an author wrote, and the content of an edition that it makes. Pure.

A letter in Markdown becomes HTML here, once; preview, test mail, archive and the real mail are all
made from that content and so cannot differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from publishing.content.edition_content import LONGEST_PART, Content
from publishing.content.markdown import render_markdown
from publishing.content.text_part import html_to_text

MARKDOWN, HTML = "markdown", "html"
# Markdown that is made to be slow takes seconds at this length and minutes at that of HTML. Gmail
# cuts a mail off at less than half of it.
LONGEST_MARKDOWN = 250_000


@dataclass(frozen=True, slots=True)
class DraftContent:
    """
    The words as they stand in the form: a letter in Markdown or HTML (`format`).

    `text` is the text part in the author's own words; empty, it is made from the letter.
    """

    title: str
    preheader: str
    format: str
    letter: str
    text: str


def html_part(written: DraftContent) -> str:
    """The letter as HTML."""
    return render_markdown(written.letter) if written.format == MARKDOWN else written.letter


def automatic_text(written: DraftContent) -> str:
    """The text part that is made from the letter where the author writes none."""
    return html_to_text(html_part(written))


def build_content(written: DraftContent) -> Content:
    """The content that these words make."""
    html = html_part(written)
    text = written.text if written.text.strip() else html_to_text(html)
    return Content.written(written.title, html, text, written.preheader)


def longest(part: str, written_in: str) -> int:
    """How many characters a part may have, `letter` being in the format that is named."""
    return LONGEST_MARKDOWN if (part, written_in) == ("letter", MARKDOWN) else LONGEST_PART

"""Summarise a letter for lists and link previews."""

import html
import re

from django.utils.html import strip_tags

from delivery.mail.merge_fields import FieldTemplate
from publishing.content.sanitise_html import sanitise_html

LONGEST = 180
# Characters. A paragraph with fewer characters is most likely a greeting, a date or “view in
# browser”.
ENOUGH = 40

_PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_BREAK = re.compile(r"<br[^>]*>")
_END_OF_SENTENCE = re.compile(r"[.!?…][”’»\"')]*(?=\s)")


def summarise(html_content: str, text_content: str, preview_text: str = "") -> str:
    """Return the preview text or the start of the text, at most `LONGEST` characters."""
    return own_summary(preview_text) or summarise_sanitised(
        sanitise_without_values(html_content), text_content
    )


def own_summary(preview_text: str) -> str:
    """Return the preview text without values of readers; empty if there is none."""
    return " ".join(FieldTemplate(preview_text, html=False).fill({}).split())


def sanitise_without_values(html_content: str) -> str:
    """Return the sanitised HTML without values of readers."""
    return sanitise_html(FieldTemplate(html_content, html=True).fill({}))


def summarise_sanitised(clean: str, text_content: str) -> str:
    """Return the start of a letter's text, from its sanitised HTML if it has HTML."""
    paragraphs = _of_html(clean) or _of_text(text_content)
    long_ones = (words for words in paragraphs if len(words) >= ENOUGH)
    return _cut(next(long_ones, " ".join(paragraphs)))


def _of_html(clean: str) -> list[str]:
    inner = (_BREAK.sub(" ", found) for found in _PARAGRAPH.findall(clean))
    found = [words for part in inner if (words := _plain(strip_tags(part)))]
    # If the letter has no paragraphs, the summary is made from all its text.
    return found or [words for words in [_plain(_TAG.sub(" ", clean))] if words]


def _of_text(content: str) -> list[str]:
    filled = FieldTemplate(content, html=False).fill({})
    return [words for part in re.split(r"\n\s*\n", filled) if (words := " ".join(part.split()))]


def _plain(markup: str) -> str:
    return " ".join(html.unescape(markup).split())


def _cut(words: str) -> str:
    if len(words) <= LONGEST:
        return words
    ends = [end.end() for end in _END_OF_SENTENCE.finditer(words, ENOUGH, LONGEST + 1)]
    if ends:
        return words[: ends[-1]]
    beginning, blank, _ = words[:LONGEST].rpartition(" ")
    return f"{(beginning if blank else words[: LONGEST - 1]).rstrip(' ,;:–—-')}…"

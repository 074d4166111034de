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
    own = " ".join(FieldTemplate(preview_text, html=False).fill({}).split())
    if own:
        return own
    paragraphs = _of_html(html_content) if html_content.strip() else []
    paragraphs = paragraphs or _of_text(text_content)
    long_ones = (words for words in paragraphs if len(words) >= ENOUGH)
    return _cut(next(long_ones, " ".join(paragraphs)))


def _of_html(content: str) -> list[str]:
    clean = sanitise_html(FieldTemplate(content, html=True).fill({}))
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

"""The content of an edition in canonical form. Pure: equal words have equal hashes."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.mail import merge_fields
from delivery.models import Edition

LONGEST_TITLE = 500
LONGEST_PREHEADER = 300
# A megabyte of characters is at most 4 MB of bytes; Postmark takes 5 MB for each part.
LONGEST_PART = 1_000_000
# XML 1.0 (fifth edition), section 2.2, production Char; everything else is illegal, and one such
# character would break the feed.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A word processor's line break and page break: removing them would join two words.
_BREAKS = re.compile("[\x0b\x0c]")


def only_xml_characters(text: str) -> str:
    """Return `text` without what XML cannot hold; vertical tabs and form feeds become newlines."""
    return _ILLEGAL.sub("", _BREAKS.sub("\n", text))


def remove_invisible(text: str) -> str:
    """Return text with LF line ends and only XML characters. NUL stays, to be reported."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "\x00".join(map(only_xml_characters, lines.split("\x00")))


@dataclass(frozen=True, slots=True)
class Content:
    """Title, HTML, text and preheader of an edition, with LF line ends."""

    title: str
    html: str
    text: str
    preheader: str = ""

    @classmethod
    def from_input(cls, title: str, html: str, text: str, preheader: str = "") -> Content:
        """Return the content of what was posted or read from files."""
        title, html, text, preheader = map(remove_invisible, (title, html, text, preheader))
        return cls(title.strip(), html, text, preheader.strip())

    @property
    def sha256(self) -> bytes:
        """The hash of title, HTML, text and any preheader; 32 bytes."""
        words = [self.title, self.html, self.text, *filter(None, [self.preheader])]
        canonical = json.dumps(words, ensure_ascii=False)
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).digest()

    @property
    def plain_title(self) -> str:
        """The title as the archive shows it: merge fields by their fallbacks."""
        filled = merge_fields.FieldTemplate(self.title, html=False).fill({})
        return " ".join(only_xml_characters(filled).split()) or "Untitled"


@dataclass(frozen=True, slots=True)
class ContentProblem:
    """Why content cannot be published: field, sentence, and the unknown merge field if any."""

    field: str
    sentence: str
    merge_field: merge_fields.UnknownField | None = None


def find_problems(content: Content) -> list[ContentProblem]:
    """Return everything that prevents publishing."""
    title, preheader = ("title", content.title), ("preheader", content.preheader)
    parts = (("text_content", content.text), ("html_content", content.html))
    problems = [
        ContentProblem(field, str(unknown), unknown)
        for texts, allowed in (
            ((title, preheader), merge_fields.TITLE_FIELDS),
            (parts, merge_fields.BODY_FIELDS),
        )
        for field, text in texts
        for unknown in merge_fields.unknown_fields(text, allowed)
    ]
    found = []
    if not content.title:
        found.append(("title", "The title is empty; it becomes the subject of the mail."))
    if CONTROL_CHARACTERS.search(content.title):
        found.append(("title", "The title has more than one line; a subject has one."))
    if CONTROL_CHARACTERS.search(content.preheader):
        found.append(("preheader", "The preheader has more than one line; an inbox shows one."))
    for (field, line), most in ((preheader, LONGEST_PREHEADER), (title, LONGEST_TITLE)):
        if len(line) > most:
            found.append((field, _too_long(f"The {field}", line, most)))
    if not content.html.strip() and not content.text.strip():
        found.append(("html_content", "Both parts are empty; write the text, the HTML, or both."))
    nul = "This part holds a NUL character, which no mail can carry; remove it."
    for field, part in parts:
        if len(part) > LONGEST_PART:
            found.append((field, _too_long("This part", part, LONGEST_PART)))
    found += [(field, nul) for field, part in parts if "\x00" in part]
    return problems + [ContentProblem(*problem) for problem in found]


def _too_long(name: str, text: str, most: int) -> str:
    return f"{name} has {len(text):,} characters; at most {most:,} are possible."


def plain_title(edition: Edition) -> str:
    """Return the title as a page shows it, with merge fields by their fallbacks."""
    return Content(edition.title, "", "").plain_title

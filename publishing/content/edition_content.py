"""What an author wrote, made canonical. Pure: the same words always have the same hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.mail import merge_fields
from delivery.models import Edition
from publishing.content.xml_characters import only_xml_characters

LONGEST_TITLE = 500
LONGEST_PREHEADER = 300
# A megabyte of characters is at most 4 MB of bytes; Postmark takes 5 MB for each part.
LONGEST_PART = 1_000_000


def with_plain_line_ends(text: str) -> str:
    """Browsers post CRLF, files have LF; the words are the same."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def visible(text: str) -> str:
    """
    The words with plain line ends, and without the characters that nobody sees and no feed holds.

    NUL stays, to be named as a flaw: it is the mark of a file that is not UTF-8 text at all.
    """
    pieces = with_plain_line_ends(text).split("\x00")
    return "\x00".join(only_xml_characters(piece) for piece in pieces)


@dataclass(frozen=True, slots=True)
class Content:
    """Title, HTML, text and preheader of an edition: the author's words, with plain line ends."""

    title: str
    html: str
    text: str
    preheader: str = ""

    @classmethod
    def written(cls, title: str, html: str, text: str, preheader: str = "") -> Content:
        """The content of what was posted or read from files."""
        return cls(visible(title).strip(), visible(html), visible(text), visible(preheader).strip())

    @property
    def sha256(self) -> bytes:
        """The hash of title, HTML and text, and of the preheader where there is one; 32 bytes."""
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
    """Why content cannot be published: the field it is in, and one sentence."""

    field: str
    sentence: str


def find_problems(content: Content) -> list[ContentProblem]:
    """Everything that stands in the way of publishing; empty if nothing does."""
    flaws = [
        ContentProblem(field, str(unknown))
        for field, line in (("title", content.title), ("preheader", content.preheader))
        for unknown in merge_fields.unknown_fields(line, merge_fields.TITLE_FIELDS)
    ]
    flaws += [
        ContentProblem(field, str(unknown))
        for field, part in (("text_content", content.text), ("html_content", content.html))
        for unknown in merge_fields.unknown_fields(part)
    ]
    if not content.title:
        flaws.append(
            ContentProblem("title", "The title is empty; it becomes the subject of the mail.")
        )
    if CONTROL_CHARACTERS.search(content.title):
        flaws.append(
            ContentProblem("title", "The title has more than one line; a subject has one.")
        )
    if CONTROL_CHARACTERS.search(content.preheader):
        flaws.append(
            ContentProblem("preheader", "The preheader has more than one line; an inbox shows one.")
        )
    if len(content.preheader) > LONGEST_PREHEADER:
        flaws.append(
            ContentProblem(
                "preheader",
                f"The preheader has {len(content.preheader):,} characters; "
                f"at most {LONGEST_PREHEADER} are possible.",
            )
        )
    if len(content.title) > LONGEST_TITLE:
        flaws.append(
            ContentProblem(
                "title",
                f"The title has {len(content.title):,} characters; "
                f"at most {LONGEST_TITLE} are possible.",
            )
        )
    if not content.html.strip() and not content.text.strip():
        flaws.append(
            ContentProblem(
                "html_content", "Both parts are empty; write the text, the HTML, or both."
            )
        )
    flaws += [
        ContentProblem(
            field,
            f"This part has {len(part):,} characters; at most {LONGEST_PART:,} are possible.",
        )
        for field, part in (("text_content", content.text), ("html_content", content.html))
        if len(part) > LONGEST_PART
    ]
    flaws += [
        ContentProblem(
            field, "This part holds a NUL character, which no mail can carry; remove it."
        )
        for field, part in (("text_content", content.text), ("html_content", content.html))
        if "\x00" in part
    ]
    return flaws


def plain_title(edition: Edition) -> str:
    """The title as a page shows it, with merge fields by their fallbacks."""
    return Content(edition.title, "", "").plain_title

"""
The content of an edition in canonical form: equal content has equal hashes.

Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape, unescape

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.humanise import digits
from delivery.mail import merge_fields
from delivery.models import Edition
from delivery.reader_fields import ReaderField
from delivery.reports.merge_field_sentence import unknown_field_sentence

LONGEST_TITLE = 500
LONGEST_PREHEADER = 300
# A million characters have at most 4 MB; Postmark accepts 5 MB for each part.
LONGEST_PART = 1_000_000
# The complement of Char in XML 1.0 (fifth edition), section 2.2. One illegal character would
# break the feed.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Line breaks and page breaks of word processors. Removing them would join two words.
_BREAKS = re.compile("[\x0b\x0c]")
# Windows-1252 that was read as Latin-1. U+0085 is a line break here, which a title refuses.
_MISREAD = re.compile("[\x80-\x84\x86-\x9f]")

NO_PAGE = gettext_lazy(
    "The letter links to its archive page with {{ archive_url }}, but this issue is not in the "
    "archive. Remove the link, or make the issue unlisted."
)


def only_xml_characters(text: str) -> str:
    """Remove illegal XML characters and repair misread ones.

    Vertical tabs and form feeds become newlines."""
    return _MISREAD.sub(_as_in_html, _ILLEGAL.sub("", _BREAKS.sub("\n", text)))


def _as_in_html(found: re.Match[str]) -> str:
    """Return “ for U+0093, as HTML reads &#147;; nothing if it has no meaning."""
    read = unescape(f"&#{ord(found[0])};")
    return "" if read == found[0] else read


def remove_invisible(text: str) -> str:
    """
    Return text with LF line ends and only XML characters.

    NUL is kept, to be reported.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "\x00".join(map(only_xml_characters, lines.split("\x00")))


@dataclass(frozen=True, slots=True)
class Content:
    """Title, HTML, text and preheader of an edition, with LF line ends.

    The HTML has braces that are no fields as entities; the others have them after a backslash.
    Without `has_page` the archive has no page of it, so the mail has no link to one. The hash does
    not depend on it."""

    title: str
    html: str
    text: str
    preheader: str = ""
    has_page: bool = True

    @classmethod
    def from_input(cls, title: str, html: str, text: str, preheader: str = "") -> Content:
        """Build the content from posted texts or files."""
        title, html, text, preheader = map(remove_invisible, (title, html, text, preheader))
        return cls(title.strip(), merge_fields.escape_html_braces(html), text, preheader.strip())

    @property
    def sha256(self) -> bytes:
        """The hash of title, HTML, text and any preheader; 32 bytes."""
        words = [self.title, self.html, self.text, *filter(None, [self.preheader])]
        canonical = json.dumps(words, ensure_ascii=False)
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).digest()

    @property
    def plain_title(self) -> str:
        """The title as the archive shows it, with merge fields as their fallbacks."""
        filled = merge_fields.FieldTemplate(self.title, html=False).fill({})
        return " ".join(only_xml_characters(filled).split()) or _("Untitled")

    @property
    def plain_preheader(self) -> str:
        """The preview text, with merge fields as their fallbacks."""
        return " ".join(merge_fields.FieldTemplate(self.preheader, html=False).fill({}).split())


def write_fallbacks(content: Content, fields: Sequence[ReaderField]) -> Content:
    """Write each field's own fallback where the letter names none."""
    fallbacks = {field.name: field.fallback for field in fields if field.fallback}
    escaped = {name: escape(fallback) for name, fallback in fallbacks.items()}
    return replace(
        content,
        title=merge_fields.with_fallbacks(content.title, fallbacks),
        html=merge_fields.with_fallbacks(content.html, escaped),
        text=merge_fields.with_fallbacks(content.text, fallbacks),
        preheader=merge_fields.with_fallbacks(content.preheader, fallbacks),
    )


def used_fields(content: Content, fields: Sequence[ReaderField]) -> list[str]:
    """Return the names of those `fields` that the content uses, in their order."""
    texts = (content.title, content.html, content.text, content.preheader)
    used = {field.name for text in texts for field in merge_fields.iter_fields(text)}
    return [field.name for field in fields if field.name in used]


@dataclass(frozen=True, slots=True)
class ContentProblem:
    """A reason why content cannot be published, with its unknown merge field if any."""

    field: str
    sentence: str
    merge_field: merge_fields.UnknownField | None = None


def find_problems(content: Content, own: Sequence[ReaderField] = ()) -> list[ContentProblem]:
    """Return all problems that prevent publishing. `own` are the author's fields."""
    names = tuple(field.name for field in own)
    title, preheader = ("title", content.title), ("preheader", content.preheader)
    parts = (("text_content", content.text), ("html_content", content.html))
    problems = [
        ContentProblem(field, unknown_field_sentence(unknown), unknown)
        for texts, allowed in (
            ((title, preheader), (*merge_fields.TITLE_FIELDS, *names)),
            (parts, (*merge_fields.BODY_FIELDS, *names)),
        )
        for field, text in texts
        for unknown in merge_fields.unknown_fields(text, allowed)
    ]
    found = [
        (
            "html_content",
            _(
                "A value of “{field}” would be code at its place: the name of a tag or an "
                "attribute, a script, or a javascript: or data: address. Move it into the text, "
                "or between the quotes of an attribute such as href or alt."
            ).format(field=f"{{{{ {name} }}}}"),
        )
        for name in merge_fields.fields_in_code(content.html)
    ]
    if not content.has_page:
        found += [
            (field, str(NO_PAGE))
            for field, text in parts
            if merge_fields.uses_field(text, "archive_url")
        ]
    if not content.title:
        found.append(("title", _("The title is empty. Write one; it becomes the mail's subject.")))
    if CONTROL_CHARACTERS.search(content.title):
        found.append(("title", _("The title has more than one line. Write it on one line.")))
    if CONTROL_CHARACTERS.search(content.preheader):
        sentence = _("The preview text has more than one line. Write it on one line.")
        found.append(("preheader", sentence))
    if len(content.preheader) > LONGEST_PREHEADER:
        sentence = _("The preview text has {length} characters; the limit is {most}.")
        found.append(("preheader", _too_long(sentence, content.preheader, LONGEST_PREHEADER)))
    written = write_fallbacks(content, own).title
    if len(content.title) > LONGEST_TITLE:
        sentence = _("The title has {length} characters; the limit is {most}.")
        found.append(("title", _too_long(sentence, content.title, LONGEST_TITLE)))
    elif len(written) > LONGEST_TITLE:
        sentence = _(
            "With the fallbacks of its merge fields the title has {length} characters; the limit "
            "is {most}. Shorten the title."
        )
        found.append(("title", _too_long(sentence, written, LONGEST_TITLE)))
    if not content.html.strip() and not content.text.strip():
        sentence = _("The letter is empty. Write the HTML, the plain text, or both.")
        found.append(("html_content", sentence))
    nul = _("This part has a NUL character, which mails cannot contain. Remove it.")
    for field, part in parts:
        if len(part) > LONGEST_PART:
            sentence = _("This part has {length} characters; the limit is {most}.")
            found.append((field, _too_long(sentence, part, LONGEST_PART)))
    found += [(field, nul) for field, part in parts if "\x00" in part]
    return problems + [ContentProblem(*problem) for problem in found]


def _too_long(sentence: str, text: str, most: int) -> str:
    return sentence.format(length=digits(len(text)), most=digits(most))


def plain_title(edition: Edition) -> str:
    """Return the title as pages show it, with merge fields as their fallbacks."""
    return Content(edition.title, "", "").plain_title

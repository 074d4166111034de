"""The content of an edition in one canonical form: equal content has equal hashes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.humanise import digits
from delivery.issue_attributes import (
    CONTENT_ATTRIBUTES,
    LETTER,
    TITLE,
    IssueAttribute,
    Kind,
)
from delivery.mail import merge_fields
from delivery.models import Edition
from delivery.reader_fields import ReaderField
from subscribers.address import read_address
from subscribers.refusal_sentences import InputRefusal, sentence_of

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

# All characters that XML 1.0 (fifth edition, section 2.2, “Char”) does not allow. Even one of these
# characters would break the Atom feed.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Line breaks and page breaks of word processors. These breaks become newlines, because without any
# space two words would be joined.
_BREAKS = re.compile("[\x0b\x0c]")
# Characters of Windows-1252 that were read as Latin-1. U+0085 is left out, because it counts as a
# line break, which a title may not have.
_MISREAD = re.compile("[\x80-\x84\x86-\x9f]")

NO_PAGE = gettext_lazy(
    "The letter links to its archive page with {{ archive_url }}, but this issue is not in the "
    "archive. Remove the link, or make the issue unlisted."
)


def only_xml_characters(text: str) -> str:
    """Remove characters that are illegal in XML, and repair misread characters.

    Vertical tabs and form feeds become newlines.
    """
    return _MISREAD.sub(_as_in_html, _ILLEGAL.sub("", _BREAKS.sub("\n", text)))


def _as_in_html(found: re.Match[str]) -> str:
    """Return the character that browsers show for a misread one; empty if none."""
    read = unescape(f"&#{ord(found[0])};")
    return "" if read == found[0] else read


def remove_invisible(text: str) -> str:
    """Return the text with LF line ends, and only characters that XML allows.

    NUL characters stay, so that the form reports them as errors.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "\x00".join(map(only_xml_characters, lines.split("\x00")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The texts that readers get: each of `CONTENT_ATTRIBUTES`, with LF line ends.

    Braces that do not belong to a merge field are entities in the HTML. In texts other than HTML,
    such braces have a backslash before them. If `has_page` is False, the issue has no page in the
    archive, so its mail has no link to a page. The hash does not depend on `has_page`.
    """

    title: str
    preview_text: str = ""
    reply_to: str = ""
    html: str = ""
    text: str = ""
    has_page: bool = True

    @classmethod
    def from_input(cls, **written: str) -> Content:
        """Build the content from posted texts or files; the keywords name the attributes."""
        if unknown := set(written) - {one.content for one in CONTENT_ATTRIBUTES}:
            raise TypeError(f"A content has no {min(unknown)}.")
        texts: dict[str, Any] = {
            one.content: _clean(one, written.get(one.content, "")) for one in CONTENT_ATTRIBUTES
        }
        return cls(**texts)

    @classmethod
    def of_edition(cls, edition: Edition) -> Content:
        """Return the content that an edition stores."""
        return cls(**{one.content: getattr(edition, one.column) for one in CONTENT_ATTRIBUTES})

    @property
    def sha256(self) -> bytes:
        """The hash (32 bytes) of the names and texts of all attributes that have a text."""
        written = {one.content: text for one, text in texts_of(self) if text}
        canonical = json.dumps(written, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).digest()

    @property
    def plain_title(self) -> str:
        """The title as the archive shows it, with fallbacks in place of merge fields."""
        filled = merge_fields.FieldTemplate(self.title, html=False).fill({})
        return " ".join(only_xml_characters(filled).split()) or _("Untitled")

    @property
    def plain_preview_text(self) -> str:
        """The preview text, with fallbacks in place of merge fields."""
        return " ".join(merge_fields.FieldTemplate(self.preview_text, html=False).fill({}).split())


def _clean(attribute: IssueAttribute, text: str) -> str:
    text = remove_invisible(text)
    match attribute.kind:
        case Kind.HTML:
            return merge_fields.escape_html_braces(text)
        case Kind.TEXT:
            return text
        case Kind.ADDRESS:
            address = read_address(text)
            return text.strip() if isinstance(address, InputRefusal) else address
        case _:
            return text.strip()


def texts_of(content: Content) -> list[tuple[IssueAttribute, str]]:
    """Return each attribute and its text, with the title first."""
    return [(one, getattr(content, one.content)) for one in CONTENT_ATTRIBUTES]


def write_fallbacks(content: Content, fields: Sequence[ReaderField]) -> Content:
    """Write a field's own fallback where the letter has the field without a fallback."""
    fallbacks = {field.name: field.fallback for field in fields if field.fallback}
    escaped = {name: escape(fallback) for name, fallback in fallbacks.items()}
    written: dict[str, Any] = {
        one.content: merge_fields.with_fallbacks(
            text, escaped if one.kind is Kind.HTML else fallbacks
        )
        for one, text in texts_of(content)
        if one.has_fields
    }
    return replace(content, **written)


def used_fields(content: Content, fields: Sequence[ReaderField]) -> list[str]:
    """Return the names of the `fields` that the content uses, in the given order."""
    texts = (text for one, text in texts_of(content) if one.has_fields)
    used = {field.name for text in texts for field in merge_fields.iter_fields(text)}
    return [field.name for field in fields if field.name in used]


@dataclass(frozen=True, slots=True)
class ContentProblem:
    """A reason why content cannot be published, with the unknown merge field, if any."""

    attribute: IssueAttribute
    sentence: str
    merge_field: merge_fields.UnknownField | None = None


def find_problems(content: Content, own: Sequence[ReaderField] = ()) -> list[ContentProblem]:
    """Return all problems that prevent publishing. `own` are the author's own fields."""
    names = [field.name for field in own]
    unknown = [
        ContentProblem(one, unknown_field_sentence(field), field)
        for one, text in texts_of(content)
        if one.has_fields
        for built_in in [merge_fields.BODY_FIELDS if one.is_part else merge_fields.TITLE_FIELDS]
        for field in merge_fields.unknown_fields(text, (*built_in, *names))
    ]
    found = [
        (
            LETTER,
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
            (one, str(NO_PAGE))
            for one, text in texts_of(content)
            if one.is_part and merge_fields.uses_field(text, "archive_url")
        ]
    if not content.title:
        found.append((TITLE, _("The title is empty. Write one; it becomes the mail's subject.")))
    found += [problem for each in texts_of(content) for problem in _form_problems(*each)]
    written = write_fallbacks(content, own).title
    if len(content.title) <= TITLE.longest < len(written):
        sentence = _(
            "With the fallbacks of its merge fields the title has {length} characters; the limit "
            "is {most}. Shorten the title."
        )
        found.append((TITLE, sentence_too_long(sentence, written, TITLE.longest)))
    if not content.html.strip() and not content.text.strip():
        sentence = _("The letter is empty. Write the HTML, the plain text, or both.")
        found.append((LETTER, sentence))
    return unknown + [ContentProblem(*problem) for problem in found]


def unknown_field_sentence(field: merge_fields.UnknownField) -> str:
    """Return the sentence that a merge field is unknown, and which fields exist."""
    unknown = _("There is no merge field “{field}”.").format(field=_braced(field.shown_name))
    if field.meant:
        hint = _("Did you mean “{field}”?").format(field=_braced(field.meant))
    else:
        hint = _("You can use: {fields}.").format(fields=", ".join(field.allowed))
    return f"{unknown} {hint}"


def _braced(name: str) -> str:
    return f"{{{{ {name} }}}}"


def _form_problems(attribute: IssueAttribute, text: str) -> Iterator[tuple[IssueAttribute, str]]:
    """Yield the problems of a text's length, lines and characters."""
    if attribute.kind is Kind.LINE and CONTROL_CHARACTERS.search(text):
        yield attribute, str(attribute.several_lines)
    if len(text) > attribute.longest:
        yield attribute, sentence_too_long(attribute.too_long, text, attribute.longest)
    elif attribute.kind is Kind.ADDRESS and text:
        address = read_address(text)
        if isinstance(address, InputRefusal):
            yield attribute, sentence_of(address)
    if attribute.is_part and "\x00" in text:
        yield attribute, _("This part has a NUL character, which mails cannot contain. Remove it.")


def sentence_too_long(sentence: StrPromise | str, text: str, most: int) -> str:
    """Fill the length and the limit into a sentence about a text that is too long."""
    return str(sentence).format(length=digits(len(text)), most=digits(most))


def plain_title(edition: Edition) -> str:
    """Return the title as pages show it, with fallbacks in place of merge fields."""
    return Content(title=edition.title).plain_title

"""Merge fields such as `{{ name|there }}`.

Triple braces are placeholders of a provider. Braces after a backslash are text, which HTML writes
with entities (docs/decisions/0052-fields-in-addresses-and-braces-as-text.md).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from itertools import islice, repeat
from typing import NamedTuple

from delivery.mail.escape_field_value import Place, Places, at_place, fallback_at_place, find_places
from delivery.mail.normalise_html import texts_in_code
from delivery.reader_fields import FIELD_NAMES

TITLE_FIELDS = (*FIELD_NAMES, "email")
TITLE_FIELDS_SHOWN = ", ".join(f"{{{{ {name} }}}}" for name in TITLE_FIELDS)
URL_FIELDS = ("unsubscribe_url", "preferences_url", "archive_url")
BODY_FIELDS = (*TITLE_FIELDS, *URL_FIELDS)

# Blanks around a name are stripped afterwards: a pattern with blanks would try every division of a
# long run of blanks. The pattern begins with literal braces, so that the search can skip to them.
FIELD_PATTERN = re.compile(r"\{\{(?<!\{\{\{)(?!\{)([^{}|]*)(?:\|([^{}]*))?\}\}(?!\})")
PROVIDER_FIELD = re.compile(r"(?<!\{)\{{3}(?!\{)[^{}]*\}{3}(?!\})")
# An odd number of backslashes, the opening braces, and the next closing braces.
ESCAPED_BRACES = re.compile(
    r"(?<!\\)((?>(?:\\\\)*))\\(\{{2,}+)(?:((?>(?:[^{}]|\{(?!\{)|\}(?!\}))*))(\}{2,}+))?"
)
_FIELD_OR_ESCAPED = re.compile(f"{FIELD_PATTERN.pattern}|{ESCAPED_BRACES.pattern}")
_BACKSLASHES = re.compile(r"(?<!\\)\\++(?=\{\{)")
_BACKSLASHES_OR_LAST = re.compile(r"(?<!\\)\\++(?=\{\{|\Z)")
_LITERAL_BRACES = re.compile(r"(?<!\\)(\\*+)(?=\{\{)(\{++)")
TOUCHING_BRACES = re.compile(r"\{{2,}+|\}{2,}+")
# Fields, escaped braces, and placeholders of a provider.
FIELD_OR_BRACES = re.compile(
    f"{FIELD_PATTERN.pattern}|{ESCAPED_BRACES.pattern}|{PROVIDER_FIELD.pattern}"
)
# This pattern also matches unpaired braces, so that they can be distinguished from braces that were
# written as entities.
ANY_BRACES = re.compile(rf"{FIELD_OR_BRACES.pattern}|{TOUCHING_BRACES.pattern}")
_ENTITY_IN_NAME = re.compile("&#12[35];")
AS_ENTITIES = str.maketrans({"{": "&#123;", "}": "&#125;", "\\": "&#92;"})
MAX_SHOWN_LENGTH = 40
# A text with more unknown fields than this is probably meant for another program.
MAX_UNKNOWN_FIELDS = 20


class Field(NamedTuple):
    """One field in a text, and its fallback for an empty value.

    In a `FieldTemplate`, the fallback is already escaped for the field's place.
    """

    name: str
    fallback: str
    place: Place = Place.TEXT


@dataclass(frozen=True, slots=True)
class UnknownField:
    """An unknown field, the field that was probably meant, and the allowed fields."""

    name: str
    meant: str | None
    allowed: tuple[str, ...]

    @property
    def shown_name(self) -> str:
        """The name on one line of at most `MAX_SHOWN_LENGTH` characters."""
        name = " ".join(self.name.split())
        return f"{name[: MAX_SHOWN_LENGTH - 1]}…" if len(name) > MAX_SHOWN_LENGTH else name


def unknown_fields(text: str, allowed: tuple[str, ...] = BODY_FIELDS) -> list[UnknownField]:
    """Find the first `MAX_UNKNOWN_FIELDS` fields that are not `allowed`, each once."""
    names = dict.fromkeys(match[1].strip() for match in find_fields(text))
    unknown = (name for name in names if name not in allowed)
    return [
        UnknownField(
            name, next(iter(get_close_matches(name.lower(), allowed, 1, 0.5)), None), allowed
        )
        for name in islice(unknown, MAX_UNKNOWN_FIELDS)
    ]


def iter_fields(text: str) -> Iterator[Field]:
    """Yield every field of `text` in order, known or not."""
    for match in find_fields(text):
        yield _field(match)


def find_fields(text: str) -> Iterator[re.Match[str]]:
    """Yield the match of every field of `text`. Escaped braces begin no field."""
    if "\\{" not in text:
        return FIELD_PATTERN.finditer(text)
    return filter(is_field, _FIELD_OR_ESCAPED.finditer(text))


def is_field(found: re.Match[str]) -> bool:
    """Return whether a match of `ANY_BRACES` is a merge field."""
    return found[1] is not None


def find_html_fields(html: str) -> Iterator[re.Match[str]]:
    """Yield the match of every field of an author's HTML.

    Braces in code are not read as fields.
    """
    parts, end = list[str](), 0
    for start, stop in texts_in_code(html):
        parts += (html[end:start], " " * (stop - start))
        end = stop
    return find_fields("".join((*parts, html[end:])))


def _field(match: re.Match[str]) -> Field:
    return Field(match[1].strip(), (match[2] or "").strip())


def uses_field(text: str, name: str) -> bool:
    """Whether `text` contains the field `name`."""
    return name in text and any(match[1].strip() == name for match in find_fields(text))


def with_fallbacks(text: str, fallbacks: Mapping[str, str]) -> str:
    """Add a fallback, by the field's name, to each field in `text` that has none."""
    parts, end = list[str](), 0
    for match in find_fields(text) if fallbacks else ():
        name, own, _ = _field(match)
        if not own and (fallback := fallbacks.get(name, "")):
            parts += (text[end : match.start()], f"{{{{ {name}|{fallback} }}}}")
            end = match.end()
    return "".join((*parts, text[end:]))


def escape_braces(text: str) -> str:
    """Escape the braces of a text without fields, so that no field is found in it."""
    return _LITERAL_BRACES.sub(r"\1\1\\\2", text) if "{{" in text else text


def plain_to_html(text: str) -> str:
    """Escape a plain text with fields for HTML."""
    parts, end = list[str](), 0
    for match in find_fields(text):
        before = _halve(_BACKSLASHES_OR_LAST, text[end : match.start()])
        parts += (escape(before).translate(AS_ENTITIES), escape(match[0]))
        end = match.end()
    return "".join((*parts, escape(_halve(_BACKSLASHES, text[end:])).translate(AS_ENTITIES)))


def escape_html_braces(html: str) -> str:
    """Replace the braces in an author's HTML that are text by their entities.

    Braces in code and braces after a backslash are text, and no merge fields. Functions that read
    fields later need not know about code or backslashes. A second call changes nothing.
    """
    if "{{" not in html:
        return html
    parts, end = list[str](), 0
    for start, stop in texts_in_code(html):
        parts += (
            _escape_in_html(html[end:start]),
            TOUCHING_BRACES.sub(lambda run: run[0].translate(AS_ENTITIES), html[start:stop]),
        )
        end = stop
    written = "".join((*parts, _escape_in_html(html[end:])))
    # If unpaired braces surround text that was written as entities, the result must not become a
    # field.
    return FIELD_PATTERN.sub(
        lambda found: (
            found[0].translate(AS_ENTITIES) if _ENTITY_IN_NAME.search(found[1]) else found[0]
        ),
        written,
    )


def _escape_in_html(html: str) -> str:
    if "\\{{" not in html:
        return html
    literal = ESCAPED_BRACES.sub(
        lambda found: (
            found[1][1::2]
            + found[2].translate(AS_ENTITIES)
            + (found[3] or "")
            + (found[4] or "").translate(AS_ENTITIES)
        ),
        html,
    )
    # Before a field, two backslashes mean one backslash of text.
    return _BACKSLASHES.sub(lambda run: run[0][1::2].translate(AS_ENTITIES), literal)


def _halve(backslashes: re.Pattern[str], text: str) -> str:
    return backslashes.sub(lambda run: run[0][1::2], text)


class FieldTemplate:
    """A text, split once at its fields. `html=True` escapes values, not fallbacks.

    A value is escaped for its place, so that it adds no tag, attribute, address or style. In HTML,
    a backslash before braces is text: old editions may contain one.
    """

    def __init__(self, text: str, *, html: bool) -> None:
        self._html = html
        # Split the text so that each field is between two texts.
        self._texts, end = list[str](), 0
        self._fields: list[Field] = []
        for match in FIELD_PATTERN.finditer(text) if html else find_fields(text):
            self._texts.append(text[end : match.start()])
            self._fields.append(_field(match))
            end = match.end()
        self._texts.append(text[end:])
        if not html and "\\{" in text:
            before = [_halve(_BACKSLASHES_OR_LAST, each) for each in self._texts[:-1]]
            self._texts = [*before, _halve(_BACKSLASHES, self._texts[-1])]
        if self._fields:
            self._fields = self._with_places()

    def _with_places(self) -> list[Field]:
        used = set("".join(self._texts))
        mark = next(sign for sign in map(chr, range(0xE000, 0x110000)) if sign not in used)
        text = mark.join(self._texts)
        found = find_places(
            # Hide the blanks in a provider's fields, because these blanks do not end an address.
            PROVIDER_FIELD.sub(lambda field: "x" * len(field[0]), text),
            mark,
            [field.name in URL_FIELDS for field in self._fields],
            html=self._html,
        )
        self._texts = _in_quotes(text, found).split(mark)
        return [
            Field(
                field.name,
                fallback_at_place(
                    field.fallback,
                    place,
                    html=self._html,
                    in_attribute=number in found.in_attributes,
                ),
                place,
            )
            for number, (field, place) in enumerate(zip(self._fields, found.places, strict=True))
        ]

    @property
    def fields(self) -> Sequence[Field]:
        """The fields in order, each with its place."""
        return self._fields

    def fill(self, values: Mapping[str, str]) -> str:
        """Write the text for one reader.

        A field with neither a value nor a fallback is left empty.
        """
        return self.fill_with(lambda field: self.write(field, values))

    def write(self, field: Field, values: Mapping[str, str]) -> str:
        """Return what replaces this field: its escaped value, or its fallback."""
        value = at_place(values.get(field.name, ""), field.place)
        return (escape(value) if self._html else value) or field.fallback

    def fill_with(self, write: Callable[[Field], str]) -> str:
        """Write the text, with the result of `write` in place of each field."""
        filled = [self._texts[0]]
        for field, text in zip(self._fields, self._texts[1:], strict=True):
            filled += (write(field), text)
        return "".join(filled)

    def fill_rows(self, values: Mapping[str, Sequence[str]], count: int) -> list[str]:
        """Write a plain text for each of `count` readers.

        Each item of `values` is a column, with one string for each reader, or one string for all
        readers.
        """
        parts: list[Iterable[str]] = [repeat(self._texts[0], count)]
        for field, text in zip(self._fields, self._texts[1:], strict=True):
            value = values.get(field.name, "")
            column = repeat(value, count) if isinstance(value, str) else value
            if field.place is not Place.TEXT:
                column = [at_place(each, field.place) for each in column]
            parts += ([each or field.fallback for each in column], repeat(text, count))
        return [*map("".join, zip(*parts, strict=True))]


def _in_quotes(html: str, found: Places) -> str:
    """Quote attributes with fields: a blank would end an attribute without quotes."""
    parts, end = list[str](), 0
    for start, stop in found.unquoted:
        value = html[start:stop].replace('"', "&quot;")
        parts += (html[end:start], f'"{value}"')
        end = stop
    return "".join((*parts, html[end:]))


def fields_in_code(html: str) -> list[str]:
    """Return the names of fields at places where a value would be code."""
    template = FieldTemplate(html, html=True)
    return [*dict.fromkeys(one.name for one in template.fields if one.place is Place.CODE)]

"""
Merge fields: `{{ name }}`, `{{ name|there }}` and the other places a reader's own words go.

Pure text. Triple braces are Postmark's own placeholders and are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from typing import NamedTuple

from delivery.reader_fields import FIELD_NAMES

TITLE_FIELDS = (*FIELD_NAMES, "email")
TITLE_FIELDS_SHOWN = ", ".join(f"{{{{ {name} }}}}" for name in TITLE_FIELDS)
BODY_FIELDS = (*TITLE_FIELDS, "unsubscribe_url", "archive_url")

# Blanks around a name are taken off afterwards: left to the expression, a long run of them would
# be tried in every division. Beginning with its braces, it is looked for by them alone.
FIELD_PATTERN = re.compile(r"\{\{(?<!\{\{\{)(?!\{)([^{}|]*)(?:\|([^{}]*))?\}\}(?!\})")
MAX_SHOWN_LENGTH = 40
# A text with more unknown fields than this was written for another program.
MAX_UNKNOWN_FIELDS = 20


class Field(NamedTuple):
    """One place in a text: which value goes there, and what stands there if it is empty."""

    name: str
    fallback: str


@dataclass(frozen=True, slots=True)
class UnknownField:
    """
    A field that there is not: what was found, the likeliest that was meant, if any, and which there
    are.
    """

    name: str
    meant: str | None
    allowed: tuple[str, ...]

    def __str__(self) -> str:
        name = " ".join(self.name.split())
        name = f"{name[: MAX_SHOWN_LENGTH - 1]}…" if len(name) > MAX_SHOWN_LENGTH else name
        hint = (
            f"Was “{{{{ {self.meant} }}}}” meant?"
            if self.meant
            else f"There are {', '.join(self.allowed[:-1])} and {self.allowed[-1]}."
        )
        return f"There is no merge field “{{{{ {name} }}}}”. {hint}"


def unknown_fields(text: str, allowed: tuple[str, ...] = BODY_FIELDS) -> list[UnknownField]:
    """The first `MOST_UNKNOWN` fields of `text` that are not `allowed`, each once."""
    found: dict[str, None] = {}
    for match in FIELD_PATTERN.finditer(text):
        if (name := match[1].strip()) not in allowed:
            found[name] = None
            if len(found) == MAX_UNKNOWN_FIELDS:
                break
    return [
        UnknownField(
            name, next(iter(get_close_matches(name.lower(), allowed, 1, 0.5)), None), allowed
        )
        for name in found
    ]


def iter_fields(text: str) -> Iterator[Field]:
    """Every field of `text`, in order, whether there is such a field or not."""
    for match in FIELD_PATTERN.finditer(text):
        yield Field(match[1].strip(), (match[2] or "").strip())


def strip_fields(text: str) -> str:
    """`text` with nothing in the places of its fields."""
    return FIELD_PATTERN.sub("", text)


def uses_field(text: str, name: str) -> bool:
    """Whether the field `name` stands somewhere in `text`."""
    return any(match[1].strip() == name for match in FIELD_PATTERN.finditer(text))


class FieldTemplate:
    """
    A text cut at its fields once, so that filling it for a reader is one join.

    With `html=True` values are escaped; a fallback is the author's own HTML and stays as written.
    """

    def __init__(self, text: str, *, html: bool) -> None:
        self._html = html
        self._parts: list[str] = []
        self._fields: list[tuple[int, Field]] = []
        end = 0
        for match in FIELD_PATTERN.finditer(text):
            self._parts.append(text[end : match.start()])
            self._fields.append(
                (len(self._parts), Field(match[1].strip(), (match[2] or "").strip()))
            )
            self._parts.append("")
            end = match.end()
        self._parts.append(text[end:])

    @property
    def has_fields(self) -> bool:
        """Whether it is another text for other values."""
        return bool(self._fields)

    def fill(self, values: Mapping[str, str]) -> str:
        """The text for one reader. A field without a value and without a fallback is empty."""
        if not self._fields:
            return self._parts[0]
        parts = self._parts.copy()
        for place, field in self._fields:
            value = values.get(field.name, "")
            if not value:
                parts[place] = field.fallback
            else:
                parts[place] = escape(value) if self._html else value
        return "".join(parts)

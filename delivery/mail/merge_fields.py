"""Merge fields such as `{{ name|there }}`. Pure.

Triple braces are Postmark's own placeholders."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from itertools import islice, repeat
from typing import NamedTuple

from delivery.reader_fields import FIELD_NAMES

TITLE_FIELDS = (*FIELD_NAMES, "email")
TITLE_FIELDS_SHOWN = ", ".join(f"{{{{ {name} }}}}" for name in TITLE_FIELDS)
BODY_FIELDS = (*TITLE_FIELDS, "unsubscribe_url", "preferences_url", "archive_url")

# Blanks around a name are stripped afterwards: a pattern with blanks would try every division of a
# long run of blanks. The pattern begins with literal braces, so that the search can skip to them.
FIELD_PATTERN = re.compile(r"\{\{(?<!\{\{\{)(?!\{)([^{}|]*)(?:\|([^{}]*))?\}\}(?!\})")
MAX_SHOWN_LENGTH = 40
# A text with more unknown fields is probably meant for another program.
MAX_UNKNOWN_FIELDS = 20


class Field(NamedTuple):
    """One field in a text, and its fallback for an empty value."""

    name: str
    fallback: str


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
    unknown = dict.fromkeys(each.name for each in iter_fields(text) if each.name not in allowed)
    return [
        UnknownField(
            name, next(iter(get_close_matches(name.lower(), allowed, 1, 0.5)), None), allowed
        )
        for name in islice(unknown, MAX_UNKNOWN_FIELDS)
    ]


def iter_fields(text: str) -> Iterator[Field]:
    """Yield every field of `text` in order, known or not."""
    for match in FIELD_PATTERN.finditer(text):
        yield Field(match[1].strip(), (match[2] or "").strip())


def uses_field(text: str, name: str) -> bool:
    """Whether `text` contains the field `name`."""
    return any(field.name == name for field in iter_fields(text))


def with_fallbacks(text: str, fallbacks: Mapping[str, str]) -> str:
    """Write the fallback of each field that has none in `text`, by the field's name."""

    def write(match: re.Match[str]) -> str:
        fallback = "" if (match[2] or "").strip() else fallbacks.get(match[1].strip(), "")
        return f"{{{{ {match[1].strip()}|{fallback} }}}}" if fallback else match[0]

    return FIELD_PATTERN.sub(write, text) if fallbacks else text


class FieldTemplate:
    """A text split at its fields once. `html=True` escapes values, not fallbacks."""

    def __init__(self, text: str, *, html: bool) -> None:
        self._html = html
        # Each field is a name and a fallback between two texts.
        self._texts = FIELD_PATTERN.split(text)[0::3]
        self._fields = list(iter_fields(text))

    @property
    def has_fields(self) -> bool:
        """Whether the text depends on values."""
        return bool(self._fields)

    def fill(self, values: Mapping[str, str]) -> str:
        """Write the text for one reader. A field without value and fallback is empty."""
        return self.fill_with(lambda field: self.write(field, values))

    def write(self, field: Field, values: Mapping[str, str]) -> str:
        """Write a field of the text."""
        value = values.get(field.name, "")
        return (escape(value) if self._html else value) or field.fallback

    def fill_with(self, write: Callable[[Field], str]) -> str:
        """Write the text with `write` for each field."""
        filled = [self._texts[0]]
        for field, text in zip(self._fields, self._texts[1:], strict=True):
            filled += (write(field), text)
        return "".join(filled)

    def fill_rows(self, values: Mapping[str, Sequence[str]], count: int) -> list[str]:
        """Write a plain text for each of `count` readers.

        A value is a column, or one string for all readers."""
        parts: list[Iterable[str]] = [repeat(self._texts[0], count)]
        for field, text in zip(self._fields, self._texts[1:], strict=True):
            value = values.get(field.name, "")
            column = repeat(value, count) if isinstance(value, str) else value
            parts += ([each or field.fallback for each in column], repeat(text, count))
        return [*map("".join, zip(*parts, strict=True))]


# With the braces of Postmark's own placeholders.
_ANY_FIELD = re.compile(rf"\{{\{{\{{[^{{}}]*\}}\}}\}}|{FIELD_PATTERN.pattern}")


class FieldPlaceholders:
    """Placeholders that protect merge fields from parsers. `restore` undoes them."""

    def __init__(self, text: str) -> None:
        # A hash of the text, because nobody can write a text that contains its hash. It does not
        # begin like an entity or a hexadecimal number, so the text before it cannot change it.
        self._mark = f"qz{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}n"
        self._numbers: dict[str, int] = {}
        self.text = _ANY_FIELD.sub(self._placeholder, text)
        self._fields = list(self._numbers)
        self._placeholders = re.compile(rf"{self._mark}([0-9]+)q")

    def _placeholder(self, field: re.Match[str]) -> str:
        return f"{self._mark}{self._numbers.setdefault(field[0], len(self._numbers))}q"

    def restore(self, text: str, write: Callable[[str], str] = str) -> str:
        """Put the fields back into `text`, each as `write` writes it."""
        if not self._fields:
            return text
        return self._placeholders.sub(lambda found: write(self._fields[int(found[1])]), text)

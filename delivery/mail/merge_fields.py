"""Merge fields such as `{{ name|there }}`. Triple braces are Postmark's own placeholders. Pure."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from itertools import islice
from typing import NamedTuple

from delivery.reader_fields import FIELD_NAMES

TITLE_FIELDS = (*FIELD_NAMES, "email")
TITLE_FIELDS_SHOWN = ", ".join(f"{{{{ {name} }}}}" for name in TITLE_FIELDS)
BODY_FIELDS = (*TITLE_FIELDS, "unsubscribe_url", "archive_url")

# Blanks around a name are stripped afterwards: in the pattern, a long run of them would be tried in
# every division. It begins with braces, so the search skips to them.
FIELD_PATTERN = re.compile(r"\{\{(?<!\{\{\{)(?!\{)([^{}|]*)(?:\|([^{}]*))?\}\}(?!\})")
MAX_SHOWN_LENGTH = 40
# A text with more unknown fields than this was written for another program.
MAX_UNKNOWN_FIELDS = 20


class Field(NamedTuple):
    """One field in a text, and what is written where its value is empty."""

    name: str
    fallback: str


@dataclass(frozen=True, slots=True)
class UnknownField:
    """An unknown field, the one that was probably meant, if any, and those that are allowed."""

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
    """The first `MAX_UNKNOWN_FIELDS` fields of `text` that are not `allowed`, each once."""
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


class FieldTemplate:
    """A text split at its fields once. With `html=True` values are escaped, fallbacks are not."""

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
        """The text for one reader. A field without a value and without a fallback is empty."""
        filled = [self._texts[0]]
        for field, text in zip(self._fields, self._texts[1:], strict=True):
            value = values.get(field.name, "")
            if not value:
                value = field.fallback
            elif self._html:
                value = escape(value)
            filled += (value, text)
        return "".join(filled)


# With the braces of Postmark's own placeholders.
_ANY_FIELD = re.compile(rf"\{{\{{\{{[^{{}}]*\}}\}}\}}|{FIELD_PATTERN.pattern}")


class FieldPlaceholders:
    """Protects fields from parsers: `text` has a placeholder for each; `restore` undoes it."""

    def __init__(self, text: str) -> None:
        # A hash of the text, which no text contains. It begins like no entity and no hexadecimal
        # number, so that what is before it does not change its meaning.
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

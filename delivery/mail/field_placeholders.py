"""Placeholders that protect merge fields from parsers of Markdown, HTML and addresses. Pure."""

import hashlib
import re
from collections.abc import Callable

from delivery.mail.merge_fields import FIELD_PATTERN

_FIELD = re.compile(rf"\{{\{{\{{[^{{}}]*\}}\}}\}}|{FIELD_PATTERN.pattern}")


class FieldPlaceholders:
    """`text` is the text with a placeholder for each of its merge fields; `restore` undoes it."""

    def __init__(self, text: str) -> None:
        # A hash of the text, which no text contains. It begins like no entity and no hexadecimal
        # number, so that what is before it does not change its meaning.
        self._mark = f"qz{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}n"
        self._numbers: dict[str, int] = {}
        self.text = _FIELD.sub(self._placeholder, text)
        self._fields = list(self._numbers)
        self._placeholders = re.compile(rf"{self._mark}([0-9]+)q")

    def _placeholder(self, field: re.Match[str]) -> str:
        return f"{self._mark}{self._numbers.setdefault(field[0], len(self._numbers))}q"

    def restore(self, text: str, write: Callable[[str], str] = str) -> str:
        """Put the fields back into `text`, each as `write` writes it."""
        if not self._fields:
            return text
        return self._placeholders.sub(lambda found: write(self._fields[int(found[1])]), text)

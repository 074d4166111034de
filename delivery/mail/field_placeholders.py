"""
Words in the place of merge fields, while a parser goes over the text that holds them.

To Markdown a field is punctuation, to an address it is bytes to be encoded, to HTML it may be a
tag. A stand-in is letters and digits, which every parser leaves as they are and where they are.
Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from delivery.mail.merge_fields import FIELD_PATTERN

# Postmark's own placeholders are as precious as ours.
_PLACEHOLDER = re.compile(rf"\{{\{{\{{[^{{}}]*\}}\}}\}}|{FIELD_PATTERN.pattern}")


def _as_it_was(field: str) -> str:
    return field


class FieldPlaceholders:
    """`text` is the text with a placeholder for each of its merge fields; `restore` undoes it."""

    def __init__(self, text: str) -> None:
        # Named after the text itself: no text holds its own hash, however it spells its letters.
        # It begins like no entity and no hexadecimal number, so that what stands before it stays.
        self._mark = f"qz{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}n"
        self._places: dict[str, int] = {}
        self.text = _PLACEHOLDER.sub(self._stand_in, text)
        self._fields = list(self._places)
        self._stand_ins = re.compile(rf"{self._mark}([0-9]+)q")

    def _stand_in(self, field: re.Match[str]) -> str:
        place = self._places.setdefault(field[0], len(self._places))
        return f"{self._mark}{place}q"

    def restore(self, text: str, write: Callable[[str], str] = _as_it_was) -> str:
        """`text` with its fields in place again, each as `write` has it written there."""
        if not self._fields:
            return text
        return self._stand_ins.sub(lambda stand_in: write(self._fields[int(stand_in[1])]), text)

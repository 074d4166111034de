"""How a person names an issue or a version on the command line or in an address."""

from __future__ import annotations

import uuid


def issue_id(text: str) -> uuid.UUID:
    """The id that `text` spells. Raises `ValueError` with one sentence."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ValueError(f"{text!r} is not the id of an issue; a UUID is expected.") from None


def version_number(text: str | None) -> int | None:
    """The version that `text` spells, None for the newest. Raises `ValueError`."""
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 2_000_000_000:
        raise ValueError(f"{text!r} is not a version; a whole number from 1 is expected.")
    return int(text)

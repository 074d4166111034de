"""How a person names an issue or a version on the command line or in an address."""

from __future__ import annotations

import uuid

HIGHEST_VERSION = 2_000_000_000
LONGEST_SHOWN = 40


def parse_issue_id(text: str) -> uuid.UUID:
    """The id that `text` spells. Raises `ValueError` with one sentence."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ValueError(f"{_shown(text)} is not the id of an issue; a UUID is expected.") from None


def parse_version(text: str | None) -> int | None:
    """The version that `text` spells, None for the newest. Raises `ValueError`."""
    if text is None:
        return None
    if not (
        text.isascii()
        and text.isdecimal()
        # Before it is read: Python refuses to read thousands of digits, in words of its own.
        and len(text) <= len(str(HIGHEST_VERSION))
        and 1 <= int(text) <= HIGHEST_VERSION
    ):
        raise ValueError(f"{_shown(text)} is not a version; a whole number from 1 is expected.")
    return int(text)


def _shown(text: str) -> str:
    """What was found, for a sentence: quoted, and cut where it is long."""
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…")

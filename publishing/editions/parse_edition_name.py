"""Parse the issue and the version that a command line or an address names."""

import re
import uuid

HIGHEST_VERSION = 2_000_000_000
LONGEST_SHOWN = 40


def parse_issue_id(text: str) -> uuid.UUID:
    """Return the id that `text` spells. Raises `ValueError` with one sentence."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ValueError(f"{_shown(text)} is not the id of an issue; a UUID is expected.") from None


def parse_version(text: str | None) -> int | None:
    """Return the version that `text` spells, None for the newest. Raises `ValueError`."""
    if text is None:
        return None
    if not (re.fullmatch("[0-9]{1,10}", text) and 1 <= int(text) <= HIGHEST_VERSION):
        raise ValueError(f"{_shown(text)} is not a version; a whole number from 1 is expected.")
    return int(text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 1]}…")

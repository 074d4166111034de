"""The commands of a page of the docs, as whoever reads it copies them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
MARKED = re.compile(r"<!-- drill: ([a-z ]+) -->\n```(?:sh|ini)\n(.*?)```\n", re.S)


def commands_of(page: str) -> dict[str, str]:
    """The marked blocks of a page, by their mark."""
    found = MARKED.findall((DOCS / page).read_text())
    commands = dict(found)
    assert len(commands) == len(found), "two blocks of a page have one mark"
    return commands

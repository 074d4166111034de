"""What docs/runbook.md says to type, taken from the page itself."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(sh|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections() -> list[str]:
    """The alerts that have a section, in the order of the page."""
    page = (ROOT / "docs" / "runbook.md").read_text()
    return re.findall(r"^## (\w+)$", page, re.MULTILINE)


def section_of(alert: str) -> str:
    """The section of an alert."""
    page = (ROOT / "docs" / "runbook.md").read_text()
    return page.split(f"\n## {alert}\n", 1)[1].split("\n## ", 1)[0]


def typed_in(alert: str) -> list[tuple[str, str]]:
    """What is typed for an alert, in order: the language, and a line or a statement."""
    found: list[tuple[str, str]] = []
    for language, block in _BLOCK.findall(section_of(alert)):
        if language == "sql":
            found.append((language, " ".join(block.split())))
        else:
            found += [(language, line) for line in block.splitlines() if line.strip()]
    return found

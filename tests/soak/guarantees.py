"""Puts results into docs/guarantees.md, between two marks: the last run of each proof."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

from tests.own_cluster import ROOT
from tests.soak.finding import Finding

DOCUMENT = ROOT / "docs" / "guarantees.md"
BEGIN = "<!-- soak: begin -->"
END = "<!-- soak: end -->"
HEAD = ["| Proof | Result | Figures | When and where |", "|---|---|---|---|"]


def write(name: str, finding: Finding, *, seed: int, at: datetime) -> None:
    """Put the row of one proof in place of the one from its run before."""
    text = DOCUMENT.read_text() if DOCUMENT.exists() else f"# Guarantees\n\n{BEGIN}\n{END}\n"
    DOCUMENT.write_text(with_row(text, name, row(name, finding, seed=seed, at=at)))


def why_not() -> str:
    """Why results could not be written, in one sentence; empty if they can."""
    text = DOCUMENT.read_text() if DOCUMENT.exists() else BEGIN + END
    if BEGIN in text and END in text.partition(BEGIN)[2]:
        return ""
    return f"{DOCUMENT.name} has no place for results; expected {BEGIN} and {END} in it."


def with_row(text: str, name: str, row: str) -> str:
    """The document with this row among those between the marks, and nothing else there."""
    before, begin, rest = text.partition(BEGIN)
    inside, end, after = rest.partition(END)
    rows = [line for line in inside.splitlines() if line.startswith("| `")]
    others = [line for line in rows if not line.startswith(f"| `{name}` |")]
    place = next((n for n, line in enumerate(rows) if line.startswith(f"| `{name}` |")), len(rows))
    others.insert(place, row)
    return "\n".join([before + begin, "", *HEAD, *others, "", end + after])


def row(name: str, finding: Finding, *, seed: int, at: datetime) -> str:
    """The row of one proof."""
    result = "passed" if finding.passed else "**fell short:** " + "; ".join(finding.short)
    where = f"{at:%Y-%m-%d}, {machine()}, commit {commit()}, seed {seed}"
    cells = (f"`{name}`", result, f"{finding.what}: {'; '.join(finding.figures)}", where)
    return "| " + " | ".join(_in_a_cell(cell) for cell in cells) + " |"


def _in_a_cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def machine() -> str:
    """Cores and memory."""
    cores = f"{os.cpu_count()} cores"
    if "SC_PHYS_PAGES" not in os.sysconf_names:
        return cores
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{cores}, {memory:.0f} GB"


def commit() -> str:
    """The commit that is checked out, and whether the tree has changed since; or that it is not."""
    if not Path(ROOT / ".git").exists():
        return "unknown"
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.strip() or "unknown"

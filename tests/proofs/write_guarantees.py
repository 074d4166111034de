"""Write the last result of each proof to docs/guarantees.md."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.postgres_cluster import ROOT
from tests.proofs.proof import Finding

DOCUMENT = ROOT / "docs" / "guarantees.md"
BEGIN, END = "<!-- proofs: begin -->", "<!-- proofs: end -->"
HEAD = ["| Proof | Result | Figures | When and where |", "|---|---|---|---|"]


@dataclass(frozen=True)
class Occasion:
    """When and where a run began; read first, because results change the tree."""

    day: str
    machine: str
    commit: str
    seed: int

    @classmethod
    def now(cls, seed: int) -> Occasion:
        """Return the present day, machine and commit."""
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        git = ["git", "-c", "safe.directory=*", "describe", "--always", "--dirty", "--abbrev=10"]
        done = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
        return cls(
            f"{datetime.now(UTC):%Y-%m-%d}",
            f"{os.cpu_count()} cores, {memory:.0f} GB",
            done.stdout.strip() or "unknown",
            seed,
        )

    @property
    def tree_is_clean(self) -> bool:
        """Whether the tree has no uncommitted changes."""
        return self.commit != "unknown" and not self.commit.endswith("-dirty")

    def __str__(self) -> str:
        return f"{self.day}, {self.machine}, commit {self.commit}, seed {self.seed}"


def write(name: str, finding: Finding, seconds: float, at: Occasion) -> None:
    """Replace the row of a proof with its last result."""
    result = "passed" if finding.passed else "**failed:** " + "; ".join(finding.short)
    figures = f"{finding.what}: {'; '.join(finding.figures)} ({seconds:.0f} s)"
    cells = (f"`{name}`", result, figures, str(at))
    in_cells = (" ".join(cell.replace("|", "\\|").split()) for cell in cells)
    row = "| " + " | ".join(in_cells) + " |"
    before, begin, rest = DOCUMENT.read_text().partition(BEGIN)
    inside, end, after = rest.partition(END)
    rows = {line.split("`")[1]: line for line in inside.splitlines() if line.startswith("| `")} | {
        name: row
    }
    DOCUMENT.write_text("\n".join([before + begin, "", *HEAD, *rows.values(), "", end + after]))

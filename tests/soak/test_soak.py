"""The long proofs at tiny sizes, and how results are put on record. No time is judged here."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from tests.deployment.programs import program
from tests.own_cluster import ROOT
from tests.soak import guarantees
from tests.soak.__main__ import described
from tests.soak.finding import Finding

AT = datetime(2026, 5, 4, tzinfo=UTC)
TEXT = f"# Guarantees\n\nBefore.\n\n{guarantees.BEGIN}\nNothing yet.\n{guarantees.END}\n\nAfter.\n"


def soak(*options: str) -> subprocess.CompletedProcess[str]:
    """What the program says to these options."""
    return subprocess.run(
        [sys.executable, "-m", "tests.soak", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


# A server is made, a storm blows, and other tests may be using every core.
@pytest.mark.timeout(400)
def test_a_tiny_storm_passes_and_prints_its_seed() -> None:
    done = soak("storm", "--quick", "--seed", "1789")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Seed 1789, ")
    assert done.stdout.splitlines()[-1].startswith("storm: passed. 2,000 deliveries, ")


# Every part of the stack is begun, and restarted once.
@pytest.mark.timeout(600)
def test_a_tiny_stack_answers_everybody_through_every_restart() -> None:
    program("nginx", package="nginx")
    program("pgbouncer", package="pgbouncer")
    done = soak("stack", "--quick", "--seed", "1789")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("stack: passed. PostgreSQL, PgBouncer, ")


def test_a_proof_that_there_is_not_is_named_with_those_that_there_are() -> None:
    done = soak("strom")

    assert done.returncode == 2
    assert "there is no proof 'strom'; expected one of storm, stack, recovery" in done.stderr


def finding(*short: str) -> Finding:
    """A result with two figures."""
    return Finding("2 readers", ["2 sent", "1 kill"], list(short))


def test_what_fell_short_stands_below_the_line_of_its_proof() -> None:
    assert described("storm", finding(), 7) == "storm: passed. 2 readers: 2 sent; 1 kill (7 s)."
    assert described("storm", finding("one is missing"), 7).splitlines() == [
        "storm: FELL SHORT. 2 readers: 2 sent; 1 kill (7 s).",
        "  - one is missing",
    ]


def test_a_result_stands_between_the_marks_with_day_machine_commit_and_seed() -> None:
    row = guarantees.row("storm", finding(), seed=7, at=AT)

    assert row == (
        f"| `storm` | passed | 2 readers: 2 sent; 1 kill | 2026-05-04, {guarantees.machine()}, "
        f"commit {guarantees.commit()}, seed 7 |"
    )
    written = guarantees.with_row(TEXT, "storm", row)
    before, _, rest = written.partition(guarantees.BEGIN)
    inside, _, after = rest.partition(guarantees.END)
    assert (before, after) == ("# Guarantees\n\nBefore.\n\n", "\n\nAfter.\n")
    assert inside.strip().splitlines() == [*guarantees.HEAD, row]


def test_a_later_run_of_one_proof_takes_the_place_of_the_earlier_one_and_of_no_other() -> None:
    text = TEXT
    for name, cell in (("storm", "old"), ("stops", "kept"), ("storm", "new")):
        text = guarantees.with_row(text, name, f"| `{name}` | {cell} |")

    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == ["| `storm` | new |", "| `stops` | kept |"]


def test_what_fell_short_stays_one_row_of_the_table() -> None:
    row = guarantees.row("storm", finding("a | b\nand c"), seed=7, at=AT)

    assert row.splitlines() == [row]
    assert "**fell short:** a \\| b and c" in row


def test_the_document_has_a_place_for_results() -> None:
    assert guarantees.why_not() == ""


def test_tiny_sizes_are_not_put_on_record() -> None:
    done = soak("model", "--quick", "--write")

    assert done.returncode == 2
    assert "--quick shows nothing that could be written" in done.stderr

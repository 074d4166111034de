"""The rows: which there are, and that they work from their start to their table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import ORDER, row_names

ROOT = Path(__file__).resolve().parents[2]


def test_the_rows_come_in_the_order_of_the_specification() -> None:
    names = row_names()
    assert names == list(ORDER)


def test_a_row_that_there_is_not_is_refused_with_a_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "swifts"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "there is no row 'swifts'; expected one of" in done.stderr


@pytest.mark.timeout(900)
def test_a_quick_run_measures_every_row(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--json", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(file.read_text())["rows"]
    assert [row["name"] for row in rows] == list(ORDER)
    for row in rows:
        assert row["targets"]
        assert {target["is_met"] for target in row["targets"]} == {None}
        figures = [target["figure"] for target in row["targets"]] + row["beside"]
        assert all(figure["runs"] for figure in figures)


@pytest.mark.timeout(600)
def test_a_quick_run_of_the_growth_measures_all_four_tables() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for table in (
        "more readers (readers)",
        "more workers (workers)",
        "longer letters (bodies)",
        "slower calls (calls)",
    ):
        assert f"\n{table}\n" in done.stdout


def test_a_quick_run_of_the_limits_measures_all_of_them() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.limits", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for limit in ("PostgreSQL", "JSON", "socket", "provider"):
        assert f"\n{limit}: " in done.stdout

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
    assert {"at_once", "through_200_ms", "memory"} <= set(names) <= set(ORDER)
    assert names == [name for name in ORDER if name in names]


def test_a_row_that_there_is_not_is_refused_with_a_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "swifts"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "there is no row 'swifts'; expected one of" in done.stderr


@pytest.mark.timeout(600)
@pytest.mark.parametrize("row", ["at_once", "through_200_ms", "memory"])
def test_a_quick_run_of_a_row_measures_all_of_it(row: str, tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", row, "--quick", "--json", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (told,) = json.loads(file.read_text())["rows"]
    assert told["targets"]
    figures = [target["figure"] for target in told["targets"]] + told["beside"]
    assert all(run > 0 for figure in figures for run in figure["runs"])


@pytest.mark.timeout(600)
def test_a_quick_run_of_the_growth_measures_all_four_tables() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", "--quick"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for table in ("more readers", "more workers", "longer letters", "slower calls"):
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

"""The program of the long proofs, at a tiny size; no time is judged."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.own_cluster import ROOT

pytestmark = [pytest.mark.process, pytest.mark.timeout(400)]


def test_a_tiny_storm_costs_nobody_a_copy_and_prints_its_seed() -> None:
    command = [sys.executable, "-m", "tests.proofs", "storm", "--quick", "--seed", "1789"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Seed 1789; ")
    assert "\nstorm: passed. 2,000 deliveries, " in done.stdout

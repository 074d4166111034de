"""If a guard names one case of a test, pytest collects this case."""

import subprocess
import sys

import pytest

from tests.guards.all_guards import GUARDS
from tests.guards.selection import NamedTests
from tests.postgres_cluster import ROOT

pytestmark = pytest.mark.process


def test_every_named_case_exists() -> None:
    tests = NamedTests(ROOT)
    named = {tests.node(test) for guard in GUARDS for test in guard.tests if "[" in test}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *sorted(named)]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert collected.returncode == 0, collected.stdout[-2000:] + collected.stderr[-2000:]

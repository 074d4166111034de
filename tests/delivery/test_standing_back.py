"""How far a worker stands back, tried in processes of their own: nobody may come forward again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

IN_A_PROCESS = """
import os, sys
from delivery.standing_back import stand_back
started_at, asked_for = map(int, sys.argv[1:])
os.setpriority(os.PRIO_PROCESS, 0, started_at)
stand_back(asked_for)
print(os.getpriority(os.PRIO_PROCESS, 0))
"""


@pytest.mark.parametrize(
    ("started_at", "asked_for", "stands_at"),
    [(12, 15, 15), (15, 15, 15), (15, 12, 15), (19, 0, 19)],
)
def test_whoever_was_started_further_back_stays_there(started_at, asked_for, stands_at):
    assert os.getpriority(os.PRIO_PROCESS, 0) <= 12, "run the tests at a niceness of at most 12"

    process = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS, str(started_at), str(asked_for)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(process.stdout) == stands_at

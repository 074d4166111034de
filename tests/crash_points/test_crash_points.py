"""Whoever is killed, wherever it is: nobody is missed, nobody gets two, and the books balance."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.crash_points.scenarios import SCENARIOS
from tests.own_cluster import ROOT

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


def played(database_url: str, *options: str) -> tuple[int, str, dict[str, int]]:
    """Exit code, what was said, and the counts of a player in the test database."""
    player = subprocess.run(
        [sys.executable, "-m", "tests.crash_points.player", *options],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
        check=False,
    )
    said, _, counts = player.stdout.rstrip().rpartition("\n")
    assert counts.startswith("{"), player.stdout
    return player.returncode, said, json.loads(counts)


@pytest.mark.parametrize("scenario", [scenario.name for scenario in SCENARIOS])
def test_killed_at_any_point_of_it_everyone_gets_one_copy_once_others_take_over(
    database_url: str, scenario: str
) -> None:
    code, said, counts = played(database_url, "--scenario", scenario)

    assert code == 0, said
    assert counts["kills"] == counts["points"] > 0
    assert (counts["failures"], counts["left_out"]) == (0, 0)


def test_killed_twice_in_one_delivery_everyone_gets_one_copy_all_the_same(
    database_url: str,
) -> None:
    code, said, counts = played(database_url, "--scenario", "lost-before-its-call", "--pairs")

    assert code == 0, said
    assert counts["pairs"] > 20
    # Each first point is also killed at once to number the points of what follows.
    assert counts["kills"] > 2 * counts["pairs"]
    assert (counts["failures"], counts["left_out"]) == (0, 0)

"""Kill workers at crash points: nobody is missed, and nobody gets two copies.

Points of one world (see `Point`) lead to the same end, so the test draws one point of each world.
`make proofs PROOFS=pairs` kills at every point. Over SMTP every message begins a new world, so only
the scenarios are played in which a call, its result or a decision differs from Postmark's.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.crash_points.scenarios import SCENARIOS
from tests.postgres_cluster import ROOT

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

SEED = random.randrange(1_000_000)
Played = Callable[[str], dict[str, Any]]
OVER_SMTP = (
    "delivery",
    "delivery-on-one-machine",
    "reply-lost",
    "refused-for-now",
    "accepted-in-part",
    "lost-in-its-call",
    "cancel-in-doubt",
    "ask-again-and-send",
)
THROUGH_AMAZON = ("delivery-on-one-machine", "reply-lost", "lost-in-its-call")
PLAYS = [
    *(("postmark", scenario.name) for scenario in SCENARIOS),
    *(("django", name) for name in OVER_SMTP),
    *(("amazon", name) for name in THROUGH_AMAZON),
]


@pytest.fixture(scope="module")
def played(database_url: str, request: pytest.FixtureRequest) -> Iterator[Played]:
    """Play scenarios in one warm process; return the counts and the process's output."""
    options = ["--serve", "--provider", request.param, "--seed", str(SEED)]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash_points", *options],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": database_url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as player:
        assert player.stdin is not None
        assert player.stdout is not None
        ask, answers = player.stdin, player.stdout

        def play(what: str) -> dict[str, Any]:
            ask.write(what + "\n")
            ask.flush()
            answer = answers.readline()
            assert answer, "the player ended early"
            return json.loads(answer)

        yield play
        ask.close()


@pytest.mark.parametrize(("played", "scenario"), PLAYS, indirect=["played"])
def test_everyone_gets_one_copy_after_a_crash_at_any_point(played: Played, scenario: str) -> None:
    found = played(scenario)

    assert "failures" not in found, found["output"]
    assert found["kills"] == found["points"] > 0

"""
Random histories, seeded and replayable: `python -m tests.histories` plays as many as you like.

`HOMING_HISTORIES`, `HOMING_HISTORIES_STEPS` and `HOMING_HISTORIES_SEED` say how many, how long, and
which; `HOMING_HISTORIES_REPLAY` plays the one that a failure printed.
"""

from __future__ import annotations

import os
import time
from collections import Counter

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.delivery.newsroom import Newsroom
from tests.histories.histories import Histories
from tests.histories.stage import Stage, the_stage

HISTORIES = int(os.environ.get("HOMING_HISTORIES", "30"))
STEPS = int(os.environ.get("HOMING_HISTORIES_STEPS", "30"))
SEED = int(os.environ.get("HOMING_HISTORIES_SEED", "1789"))
REPLAY = os.environ.get("HOMING_HISTORIES_REPLAY", "")
SHRINKS = os.environ.get("HOMING_HISTORIES_SHRINK", "1") != "0"
# Progress is said, and a seed is good for, so many histories.
AT_A_TIME = 100


def play(stage: Stage, histories: int, seed: int, seen: Counter[str]) -> None:
    """Play so many histories drawn from a seed, or the one that is to be replayed."""
    # A class of its own each time: Hypothesis keeps the seed on it.
    machine = type("Histories", (Histories,), {"stage": stage, "seen": seen})
    if REPLAY:
        machine = hypothesis.reproduce_failure(hypothesis.__version__, REPLAY.encode())(machine)
    else:
        machine = hypothesis.seed(seed)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            print_blob=True,
            phases=(Phase.generate, Phase.shrink) if SHRINKS else (Phase.generate,),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        ),
    )


@pytest.mark.timeout(60 + 20 * HISTORIES)
def test_whatever_happens_every_reader_gets_one_copy_and_the_books_are_right(
    newsroom: Newsroom, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: Counter[str] = Counter()
    began = time.monotonic()
    with the_stage(newsroom) as stage:
        for played in range(0, HISTORIES, AT_A_TIME):
            seed, histories = SEED + played // AT_A_TIME, min(AT_A_TIME, HISTORIES - played)
            with capfd.disabled():
                print(f"\n{histories} histories of {STEPS} steps, seed {seed}", flush=True)
            play(stage, histories, seed, seen)
    with capfd.disabled():
        print(f"{HISTORIES} histories in {time.monotonic() - began:.0f} s. Among them:")
        for what, count in sorted(seen.items()):
            print(f"{count:8,} {what}")

"""Random histories, seeded and replayable.

`python -m tests.histories` plays more of them.
"""

import json
import os
import time
from collections import Counter

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.histories.history_environment import Stage, the_stage
from tests.histories.state_machine import Histories

ASKED = {"histories": 10, "steps": 30, "seed": 1789, "replay": "", "as_drawn": False}
ASKED |= json.loads(os.environ.get("HOMING_HISTORIES", "{}"))
HISTORIES = int(ASKED["histories"])
# The number of histories after which progress is printed and the seed changes.
AT_A_TIME = 100


def play(stage: Stage, histories: int, seed: int, seen: Counter[str]) -> None:
    """Play histories drawn from a seed, or replay one."""
    # A new class each time: Hypothesis keeps the seed on it.
    machine = type("Histories", (Histories,), {"stage": stage, "seen": seen})
    if ASKED["replay"]:
        blob = str(ASKED["replay"]).encode()
        machine = hypothesis.reproduce_failure(hypothesis.__version__, blob)(machine)
    else:
        machine = hypothesis.seed(seed)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=int(ASKED["steps"]),
            deadline=None,
            database=None,
            print_blob=True,
            phases=[Phase.generate] + [Phase.shrink] * (not ASKED["as_drawn"]),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        ),
    )


@pytest.mark.timeout(60 + 20 * HISTORIES)
def test_every_reader_gets_one_copy_and_the_counts_balance(
    transactional_db: None, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: Counter[str] = Counter()
    began = time.monotonic()
    with the_stage() as stage, capfd.disabled():
        for played in range(0, HISTORIES, AT_A_TIME):
            seed = int(ASKED["seed"]) + played // AT_A_TIME
            histories = min(AT_A_TIME, HISTORIES - played)
            print(f"\n{histories} histories of {ASKED['steps']} steps, seed {seed}", flush=True)
            play(stage, histories, seed, seen)
        for what, count in sorted(seen.items()):
            print(f"{count:8,} {what}")
        print(f"{HISTORIES} histories, {seen['copies']:,} copies, {time.monotonic() - began:.0f} s")

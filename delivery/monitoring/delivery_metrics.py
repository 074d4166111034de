"""
What delivery counts, and under which names: the only place that knows both.

Docs/metrics.md says what each is good for. Called where something has happened, never instead of
writing it down: the books of an edition are elsewhere, and exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from delivery.monitoring.metrics_buffer import Histogram, add_when_committed, tallies

COPIES = "homing_copies_total"
CALLS = "homing_calls_total"
CALL_SECONDS = Histogram(
    "homing_call_duration_seconds", (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
)
PHASE_SECONDS = "homing_phase_seconds_total"
PHASE_WORK_SECONDS = "homing_phase_work_seconds_total"
TOO_FAST = "homing_calls_too_fast_total"
LOOK_UPS = "homing_look_ups_total"
CAME_BACK = "homing_leases_recovered_total"
ALARMS = "homing_alarms_total"


def copies(by_outcome: Mapping[str, int]) -> None:
    """So many copies came to an outcome, if this transaction is committed."""
    for outcome, number in by_outcome.items():
        add_when_committed(COPIES, number, outcome=outcome)


def call(result: str, seconds: float) -> None:
    """A call ended, and took so long."""
    tallies.add(CALLS, result=result)
    tallies.observe(CALL_SECONDS, seconds)


def phase(name: str, seconds: float, of_work: float) -> None:
    """A phase of a step took so long, and of that so long in the worker itself."""
    tallies.add(PHASE_SECONDS, seconds, phase=name)
    tallies.add(PHASE_WORK_SECONDS, of_work, phase=name)


def too_fast() -> None:
    """The provider refused a call because it came too fast."""
    tallies.add(TOO_FAST)


def look_up(answer: str) -> None:
    """The provider was asked what became of an attempt."""
    tallies.add(LOOK_UPS, answer=answer)


def came_back(state: str) -> None:
    """A batch came back from a lost worker, which had it in this state."""
    tallies.add(CAME_BACK, state=state)


def alarm(kind: str) -> None:
    """An alarm was raised, if this transaction is committed."""
    add_when_committed(ALARMS, kind=kind)

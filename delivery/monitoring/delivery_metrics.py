"""
What delivery counts, and under which names: the only place that knows both.

Docs/metrics.md says what each is good for. Called where something has happened, never instead of
writing it down: the books of an edition are elsewhere, and exact.
"""

from __future__ import annotations

from collections.abc import Mapping

from delivery.monitoring.metrics_buffer import Histogram, add_on_commit, metrics_buffer

DELIVERIES = "homing_copies_total"
CALLS = "homing_calls_total"
CALL_SECONDS = Histogram(
    "homing_call_duration_seconds", (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
)
PHASE_SECONDS = "homing_phase_seconds_total"
PHASE_WORK_SECONDS = "homing_phase_work_seconds_total"
RATE_LIMITED = "homing_calls_too_fast_total"
LOOKUPS = "homing_look_ups_total"
LEASES_RECOVERED = "homing_leases_recovered_total"
ALARMS = "homing_alarms_total"


def count_deliveries(by_outcome: Mapping[str, int]) -> None:
    """So many copies came to an outcome, if this transaction is committed."""
    for outcome, number in by_outcome.items():
        add_on_commit(DELIVERIES, number, outcome=outcome)


def observe_call(result: str, seconds: float) -> None:
    """A call ended, and took so long."""
    metrics_buffer.add(CALLS, result=result)
    metrics_buffer.observe(CALL_SECONDS, seconds)


def observe_phase(name: str, seconds: float, of_work: float) -> None:
    """A phase of a step took so long, and of that so long in the worker itself."""
    metrics_buffer.add(PHASE_SECONDS, seconds, phase=name)
    metrics_buffer.add(PHASE_WORK_SECONDS, of_work, phase=name)


def count_rate_limited() -> None:
    """The provider refused a call because it came too fast."""
    metrics_buffer.add(RATE_LIMITED)


def count_lookup(answer: str) -> None:
    """The provider was asked what became of an attempt."""
    metrics_buffer.add(LOOKUPS, answer=answer)


def count_recovered_lease(state: str) -> None:
    """A batch came back from a lost worker, which had it in this state."""
    metrics_buffer.add(LEASES_RECOVERED, state=state)


def count_alarm(kind: str) -> None:
    """An alarm was raised, if this transaction is committed."""
    add_on_commit(ALARMS, kind=kind)

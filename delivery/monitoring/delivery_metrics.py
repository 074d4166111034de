"""The counters of delivery and their names (docs/metrics.md)."""

import time
from collections.abc import Mapping
from enum import StrEnum

from delivery.monitoring.metrics_storage import Histogram, add_on_commit, metrics_buffer

DELIVERIES = "homing_deliveries_total"
CALLS = "homing_calls_total"
CALL_SECONDS = Histogram(
    "homing_call_duration_seconds", (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
)
PHASE_SECONDS = "homing_worker_phase_seconds_total"
PHASE_CPU_SECONDS = "homing_worker_phase_cpu_seconds_total"
RATE_LIMITED = "homing_calls_rate_limited_total"
LOOKUPS = "homing_lookups_total"
LEASES_RECOVERED = "homing_leases_recovered_total"
ALARMS = "homing_alarms_total"


def count_deliveries(by_outcome: Mapping[str, int]) -> None:
    """Count deliveries that got an outcome, once the transaction is committed."""
    for outcome, number in by_outcome.items():
        add_on_commit(DELIVERIES, number, outcome=outcome)


class Phase(StrEnum):
    """The parts of a step in order. In `wait`, a step waits for a free call slot.

    Claims that find no batch and phases that fail are not counted.
    """

    CLAIM = "claim"
    RENDER = "render"
    WAIT = "wait"
    START = "start"
    CALL = "call"
    SETTLE = "settle"


class Phases:
    """The phases of one step on one thread. Each phase is counted when it ends."""

    def __init__(self) -> None:
        self._at = (time.perf_counter(), time.thread_time())

    def end(self, phase: Phase) -> None:
        """Count the time, and this thread's CPU time, since the previous phase ended."""
        before, self._at = self._at, (time.perf_counter(), time.thread_time())
        metrics_buffer.add(PHASE_SECONDS, self._at[0] - before[0], phase=phase)
        metrics_buffer.add(PHASE_CPU_SECONDS, self._at[1] - before[1], phase=phase)

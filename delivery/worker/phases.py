"""The phases of a step and what they take: elapsed time, and this thread's own share of it."""

import time
from enum import StrEnum

from delivery.monitoring import delivery_metrics


class Phase(StrEnum):
    """The parts of a step in order. `wait` is for a free call slot. A claim that finds nothing is
    not counted, nor is the part in which a step failed."""

    CLAIM = "claim"
    RENDER = "render"
    WAIT = "wait"
    START = "start"
    SERIALISE = "serialise"
    CALL = "call"
    SETTLE = "settle"


class Phases:
    """The phases of one step, on one thread; each is counted as it ends."""

    def __init__(self) -> None:
        self._at = _now()

    def end(self, phase: Phase) -> None:
        """Count the time since the previous phase ended as this phase."""
        before, self._at = self._at, _now()
        delivery_metrics.observe_phase(phase, self._at[0] - before[0], self._at[1] - before[1])


def _now() -> tuple[float, float]:
    """Seconds that pass, and seconds of this thread's work."""
    return time.perf_counter(), time.thread_time()

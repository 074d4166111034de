"""
What the time of a step goes into: its phases, in their order, each with its own share.

Two times are told of each: what passed, and what of it this thread was at work itself. Where they
differ it waited: for the provider, for PostgreSQL, for another thread of its process.
"""

import time
from enum import StrEnum

from delivery.monitoring import delivery_metrics


class Phase(StrEnum):
    """
    The parts of a step, as they follow one another. `wait` is for a place among the calls in
    flight: where it is long, the provider's time is what limits the worker.

    A claim that finds nothing is not counted, nor is the part in which a step failed. A batch that
    is given back has been claimed, rendered and has waited, and no more.
    """

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
    """Seconds that pass, and seconds that this thread was at work."""
    return time.perf_counter(), time.thread_time()

"""Limit how many calls one worker makes at the same time.

There are more threads than calls. While every call waits for its answer, other threads prepare and
settle batches. The additional threads help only while calls are quick. While calls are slow, a
claim needs a free slot. Without a free slot, the claimed batch would wait here, and other workers
could not send it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from delivery.provider.deadline_clock import now_s

# A call that takes longer than this is slow. A batch waits at most this long for its slot.
QUICK_S = 1.0
# How often a waiting thread checks whether the worker is stopping.
STOP_CHECK_S = 0.2


# The number of database connections for a worker's tasks, and for one web process (docs/deploy.md,
# “Size”).
TASKS_OF_A_WORKER = 8
WEB_PROCESS = 14


def threads_for(calls: int) -> int:
    """Compute the threads for this many calls: 1.5 times as many, but 1 for 1 call.

    In the benchmark `slow_calls` (8 calls of 200 ms), a worker reached 72 % of the possible rate
    without the additional threads, and 88 % with them.
    """
    return calls + calls // 2


def connections_needed(processes: int, concurrency: int) -> int:
    """Return the connections that one worker and one web process may open together."""
    return TASKS_OF_A_WORKER + processes * (1 + threads_for(concurrency)) + WEB_PROCESS


class CallSlots:
    """The state of one worker's `size` slots, shared by its threads."""

    def __init__(self, size: int) -> None:
        self.free = size
        self.ready = 0  # Rendered batches that wait for a slot.
        self.is_quick = False  # Whether the last call was quick.
        lock = threading.Lock()
        self.slot_is_free = threading.Condition(lock)
        self.may_claim = threading.Condition(lock)

    def admit_claim(self, is_stopping: Callable[[], bool]) -> Slot | None:
        """Return a slot if this thread may claim a batch, otherwise None.

        The caller must release the slot. While calls are quick, every thread may claim. While calls
        are slow, the thread waits up to `QUICK_S` for a slot, and holds that slot.
        """
        slot = Slot(self)
        with self.may_claim:
            # Batches that are already rendered get a free slot first.
            if not _wait(
                self.may_claim,
                lambda: self.is_quick or self.free > self.ready,
                now_s() + QUICK_S,
                is_stopping,
            ):
                return None
            if not self.is_quick:
                slot.is_held = True
                self.free -= 1
        return slot

    def record_call(self, seconds: float) -> None:
        """Record how many seconds a call took, whatever its result."""
        with self.may_claim:
            was_quick, self.is_quick = self.is_quick, seconds <= QUICK_S
            if self.is_quick and not was_quick:
                self.may_claim.notify_all()


class Slot:
    """The slot of one batch's call: held, or still to be acquired.

    `with` releases the slot.
    """

    def __init__(self, slots: CallSlots) -> None:
        self._slots = slots
        self.is_held = False

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def acquire(self, *, until_s: float, is_stopping: Callable[[], bool]) -> bool:
        """Hold the slot for a call that may start now.

        Wait for a free slot for at most `QUICK_S`, and not beyond `until_s` (a reading of
        `now_s()`). Return False if no slot became free or the worker is stopping.
        """
        slots = self._slots
        with slots.slot_is_free:
            if self.is_held:
                return not is_stopping()
            slots.ready += 1
            until_s = min(until_s, now_s() + QUICK_S)
            self.is_held = _wait(slots.slot_is_free, lambda: slots.free > 0, until_s, is_stopping)
            slots.ready -= 1
            if self.is_held:
                slots.free -= 1
            else:
                # The calls in flight are slow, so the next claim needs a free slot.
                slots.is_quick = False
            return self.is_held

    def release(self) -> None:
        """Release the slot if it is held."""
        slots = self._slots
        with slots.slot_is_free:
            if self.is_held:
                self.is_held = False
                slots.free += 1
                (slots.slot_is_free if slots.ready else slots.may_claim).notify()


def _wait(
    changed: threading.Condition,
    is_so: Callable[[], bool],
    until_s: float,
    is_stopping: Callable[[], bool],
) -> bool:
    """Wait until `is_so()`; False at `until_s` or if the worker stops.

    The caller must hold the lock.
    """
    while not is_stopping():
        if is_so():
            return True
        left_s = until_s - now_s()
        if left_s <= 0:
            return False
        changed.wait(min(left_s, STOP_CHECK_S))
    return False

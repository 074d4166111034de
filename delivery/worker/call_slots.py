"""Limits how many calls one worker makes at the same time.

There are more threads than calls: while every call waits for its answer, other threads prepare and
settle batches. That pays off only while calls are quick. A batch claimed ahead of a slow call would
be kept from other workers, so then it is claimed only for a free slot."""

from __future__ import annotations

import threading
from collections.abc import Callable

from delivery.postmark.client import now_s

# A call that takes longer is slow, and no batch waits longer for its slot.
QUICK_S = 1.0
# How often a waiting thread checks whether the worker is stopping.
STOP_CHECK_S = 0.2


def threads_for(calls: int) -> int:
    """How many threads keep this many calls in flight: half as many again, one for one. With 8
    calls of 200 ms that brought a worker from 72 to 88 % of what the calls allow (`make bench
    ROWS=through_200_ms`)."""
    return calls + calls // 2


class CallSlots:
    """The slots of one worker's calls, `most` at a time; shared by its threads."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._ready = 0  # Rendered batches that wait for a slot.
        self._is_quick = False  # Whether the last call was quick.
        self._lock = threading.Lock()
        self._slot_is_free = threading.Condition(self._lock)
        self._may_claim = threading.Condition(self._lock)

    def acquire(self, is_stopping: Callable[[], bool]) -> Slot | None:
        """Let a thread claim a batch; None if it may not. Free the slot afterwards. While calls are
        quick, every thread may. Otherwise a free slot is waited for, at most `QUICK_S`, and held
        from now on."""
        slot = Slot(self)
        with self._lock:
            # Batches that are ready come first.
            if not _wait(
                self._may_claim,
                lambda: self._is_quick or self._free > self._ready,
                now_s() + QUICK_S,
                is_stopping,
            ):
                return None
            if not self._is_quick:
                self._hold(slot)
        return slot

    def record_call(self, seconds: float) -> None:
        """Record how many seconds a call took, whatever its result."""
        with self._lock:
            was_quick, self._is_quick = self._is_quick, seconds <= QUICK_S
            if self._is_quick and not was_quick:
                self._may_claim.notify_all()

    def wait(self, slot: Slot, until_s: float, is_stopping: Callable[[], bool]) -> bool:
        """See `Slot.wait`."""
        with self._lock:
            if slot.is_held:
                return not is_stopping()
            self._ready += 1
            until_s = min(until_s, now_s() + QUICK_S)
            try:
                if _wait(self._slot_is_free, lambda: self._free > 0, until_s, is_stopping):
                    self._hold(slot)
                else:
                    # The calls in flight do not end: the next claim needs a free slot.
                    self._is_quick = False
            finally:
                self._ready -= 1
            return slot.is_held

    def free(self, slot: Slot) -> None:
        """Give a slot back, if it is held."""
        with self._lock:
            if slot.is_held:
                slot.is_held = False
                self._free += 1
                (self._slot_is_free if self._ready else self._may_claim).notify()

    def _hold(self, slot: Slot) -> None:
        self._free -= 1
        slot.is_held = True


class Slot:
    """The slot of one batch's call: held, or still to be waited for. `with` frees it."""

    def __init__(self, slots: CallSlots) -> None:
        self._slots = slots
        self.is_held = False

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *error: object) -> None:
        self.free()

    def wait(self, *, until_s: float, is_stopping: Callable[[], bool]) -> bool:
        """Hold the slot for a call that may begin now. False if no slot came free by `until_s`, a
        reading of `now_s()`, or within `QUICK_S`, or if the worker is stopping."""
        return self._slots.wait(self, until_s, is_stopping)

    def free(self) -> None:
        """Give the slot back, if it is held."""
        self._slots.free(self)


def _wait(
    changed: threading.Condition,
    is_so: Callable[[], bool],
    until_s: float,
    is_stopping: Callable[[], bool],
) -> bool:
    """Wait until `is_so()`; False at `until_s` or if the worker is stopping. Needs the lock."""
    while not is_stopping():
        if is_so():
            return True
        left_s = until_s - now_s()
        if left_s <= 0:
            return False
        changed.wait(min(left_s, STOP_CHECK_S))
    return False

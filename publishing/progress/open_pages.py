"""
How many progress pages are looked at, as far as this process was asked by them, and the reading
that they share: what many pages ask within a second is read once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class OpenPages:
    """Pages by the name that each gave itself. One that asks no more is forgotten."""

    def __init__(
        self, *, within_s: float, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._within_s, self._most, self._clock = within_s, most, clock
        self._seen: dict[str, float] = {}
        self._lock = Lock()

    def seen(self, name: str, *, hidden: bool = False) -> int:
        """A page has asked; how many are looked at, this one included unless it is hidden."""
        now = self._clock()
        with self._lock:
            # Taken out first, so that the dictionary stays in the order of the last asking.
            self._seen.pop(name, None)
            if not hidden:
                self._seen[name] = now
            while self._seen:
                oldest = next(iter(self._seen))
                if now - self._seen[oldest] < self._within_s and len(self._seen) <= self._most:
                    break
                del self._seen[oldest]
            return max(1, len(self._seen))


@dataclass
class _Entry(Generic[T]):
    lock: Lock = field(default_factory=Lock)
    read_at: float = float("-inf")
    value: T | None = None


class SharedReadings(Generic[T]):
    """Values that are read at most once in `for_s` for each key; who comes meanwhile waits."""

    def __init__(
        self, *, for_s: float, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._for_s, self._most, self._clock = for_s, most, clock
        self._entries: dict[Hashable, _Entry[T]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, read: Callable[[], T]) -> T:
        """What `read` says, or what it said to somebody else a moment ago."""
        with self._lock:
            if key not in self._entries and len(self._entries) >= self._most:
                self._entries.clear()
            entry = self._entries.setdefault(key, _Entry())
        with entry.lock:
            now = self._clock()
            if entry.value is None or now - entry.read_at >= self._for_s:
                entry.value = None
                entry.value = read()
                # From before it was read: it is never passed on when it is older than promised.
                entry.read_at = now
            return entry.value

"""Count this process's open progress pages, and share query results among them."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class OpenPages:
    """Open pages by name.

    A page that has not polled for `within_s` seconds is forgotten.
    """

    def __init__(
        self, *, within_s: float, limit: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._within_s, self._limit, self._clock = within_s, limit, clock
        self._seen: dict[str, float] = {}
        self._lock = Lock()

    def seen(self, name: str, *, hidden: bool = False) -> int:
        """Record a poll; return the number of visible pages, at least one."""
        now = self._clock()
        with self._lock:
            # Removed first, so that the dictionary is in the order of the last poll.
            self._seen.pop(name, None)
            if not hidden:
                self._seen[name] = now
            while self._seen:
                oldest = next(iter(self._seen))
                if now - self._seen[oldest] < self._within_s and len(self._seen) <= self._limit:
                    break
                del self._seen[oldest]
            return max(1, len(self._seen))


@dataclass
class _Entry(Generic[T]):
    lock: Lock = field(default_factory=Lock)
    read_at: float = float("-inf")
    value: T | None = None


class SharedReadings(Generic[T]):
    """Values that are read at most once in `for_s` seconds per key.

    Concurrent callers wait.
    """

    def __init__(
        self, *, for_s: float, limit: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._for_s, self._limit, self._clock = for_s, limit, clock
        self._entries: dict[Hashable, _Entry[T]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return the value of `read`, or the one that another caller has just read."""
        with self._lock:
            if key not in self._entries and len(self._entries) >= self._limit:
                self._entries.clear()
            entry = self._entries.setdefault(key, _Entry())
        with entry.lock:
            now = self._clock()
            if entry.value is None or now - entry.read_at >= self._for_s:
                entry.value = None
                entry.value = read()
                # Take the time before the reading, so that a value is never older than `for_s`.
                entry.read_at = now
            return entry.value

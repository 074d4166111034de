"""The only place for the log of calls: what was asked lately, and what came of it."""

import threading
from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import Any

from postmark_sandbox.times import utc_text

KEPT = 2000


@dataclass(slots=True)
class Call:
    """One call to the API. `status` 0: the connection ended without an answer."""

    number: int
    at_ns: int
    method: str
    path: str
    messages: int
    accepted: int
    status: int
    fault: str
    ms: float

    def described(self) -> dict[str, Any]:
        """The call as the control API shows it."""
        return asdict(self) | {"at": utc_text(self.at_ns)}


class Calls:
    """The last calls, and counts over all of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Forgets calls and counts."""
        with self._lock:
            self._last: deque[Call] = deque(maxlen=KEPT)
            self._by_status: Counter[str] = Counter()
            self._by_path: Counter[str] = Counter()
            self._by_fault: Counter[str] = Counter()
            self.count = 0

    def add(
        self,
        *,
        at_ns: int,
        method: str,
        path: str,
        branch: str,
        status: int,
        ms: float,
        messages: int = 0,
        accepted: int = 0,
        fault: str = "",
    ) -> None:
        """Notes one call; `branch` is its path without ids, for counting."""
        with self._lock:
            self.count += 1
            self._last.append(
                Call(self.count, at_ns, method, path, messages, accepted, status, fault, ms)
            )
            self._by_status[str(status)] += 1
            self._by_path[branch] += 1
            if fault:
                self._by_fault[fault] += 1

    def newest_first(self, count: int = KEPT) -> list[Call]:
        """The last calls, at most `count`."""
        with self._lock:
            return list(self._last)[::-1][:count]

    def counts(self) -> dict[str, Any]:
        """All calls by status, path and fault."""
        with self._lock:
            return {
                "total": self.count,
                "by_status": dict(self._by_status),
                "by_path": dict(self._by_path),
                "by_fault": dict(self._by_fault),
            }

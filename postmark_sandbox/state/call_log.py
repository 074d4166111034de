"""Log of API calls."""

import threading
from collections import Counter, deque
from dataclasses import asdict, dataclass
from typing import Any

from postmark_sandbox.times import utc_text

KEPT = 2000


@dataclass(slots=True)
class LoggedCall:
    """A logged API call. `route` is the path without ids.

    A `status` of 0 means that the connection ended without a response.
    """

    at_ns: int
    method: str
    path: str
    route: str
    status: int
    ms: float
    messages: int = 0
    accepted: int = 0
    fault: str = ""
    number: int = 0

    @property
    def fault_words(self) -> str:
        return self.fault.replace("_", " ")

    def as_json(self) -> dict[str, Any]:
        """Return the call as the control API shows it."""
        shown = asdict(self) | {"at": utc_text(self.at_ns)}
        del shown["route"]
        return shown


class CallLog:
    """The latest calls, and counts of all calls."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        with self._lock:
            self._last: deque[LoggedCall] = deque(maxlen=KEPT)
            names = ("by_status", "by_path", "by_fault")
            self._counts: dict[str, Counter[str]] = {name: Counter() for name in names}
            self.count = 0

    def add(self, call: LoggedCall) -> None:
        with self._lock:
            self.count += 1
            call.number = self.count
            self._last.append(call)
            self._counts["by_status"][str(call.status)] += 1
            self._counts["by_path"][call.route] += 1
            if call.fault:
                self._counts["by_fault"][call.fault] += 1

    def newest_first(self, count: int = KEPT) -> list[LoggedCall]:
        with self._lock:
            return list(self._last)[::-1][:count]

    def counts(self) -> dict[str, Any]:
        with self._lock:
            return {"total": self.count} | {name: dict(c) for name, c in self._counts.items()}

"""Polls of open pages: answers, pauses, and database reads that pages share.

An open page polls: after each pause, it asks the server again (with htmx). Each answer has the
changed parts and says when to poll next. Pauses are longer if nothing is new or many pages are
open.
"""

import hashlib
import random
import re
import secrets
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Generic, TypeVar

from django.http import HttpRequest

from delivery.rules.edition_state import EditionState
from publishing.editions.edition_status import EditionStatus
from publishing.progress.edition_progress import is_at_rest

_PAGE = re.compile(r"[0-9a-f]{16}")
_NUMBER = re.compile(r"[0-9]{1,4}")
# The parameters that a poll adds to the address of its page.
_PARAMETERS = ("seen", "same", "page", "hidden", "listed")
SOON_S = 2.0
# After a poll without news: the next pause in seconds, the factor by which further pauses grow, and
# the longest pause.
QUIET_S, GROWS_BY, LONGEST_S = 10.0, 1.5, 60.0
# During a send, the pause is the time left divided by `STEPS`, at most `LONGEST_STEP_S`.
STEPS, LONGEST_STEP_S = 60, 10.0
STARTING_S = 30
# The pauses of the desk in seconds: while something is being sent, and otherwise.
DESK_S, DESK_IDLE_S = 4.0, 30.0
# All pages together poll at most this many times a second.
READINGS_PER_S = 2
# The shortest pause in seconds before a browser without scripts reloads the whole page.
RELOAD_AT_LEAST_S = 5

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Poll:
    """A poll: the page's name, hashes of its content, and a count of unchanged polls."""

    page: str
    seen: str
    unchanged: int
    is_hidden: bool
    listed: str

    def compare(self, parts: str) -> tuple[str, int]:
        """Return the hash of these parts, and how many polls in a row brought no news."""
        tag = tag_of(parts)
        return tag, self.unchanged + 1 if tag == self.seen else 0


def poll_from(request: HttpRequest) -> Poll | None:
    """Parse the poll in a request; None if the request is for the page itself."""
    if "HX-Request" not in request.headers:
        return None
    asked, page = request.GET, request.GET.get("page", "")
    return Poll(
        page=page if _PAGE.fullmatch(page) else "",
        seen=asked.get("seen", ""),
        unchanged=int(asked["same"]) if _NUMBER.fullmatch(asked.get("same", "")) else 0,
        is_hidden=asked.get("hidden") == "1",
        listed=asked.get("listed", ""),
    )


def next_poll(
    request: HttpRequest, after_s: float | None, *, seen: str = "", unchanged: int = 0
) -> dict[str, str]:
    """Return where an open page polls next, and when.

    The page polls after a pause, or when it is visible again. The first answer gives the page a
    name. Later pauses vary a little, which spreads the polls of many pages.
    """
    query = request.GET.copy()
    poll = poll_from(request)
    for name in _PARAMETERS:
        query.pop(name, None)
    query["seen"], query["same"] = seen, str(unchanged)
    if poll:
        query["page"] = poll.page or secrets.token_hex(8)
    if poll and after_s is not None:
        after_s *= random.uniform(0.9, 1.1)
    trigger = "look" if after_s is None else f"load delay:{after_s:.1f}s, look"
    return {"url": f"?{query.urlencode()}", "trigger": trigger}


def tag_of(parts: str) -> str:
    """Return a short hash of a page's content."""
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


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
            # Remove the name first, so that the dictionary stays in the order of the pages' last
            # polls.
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
    """Values by key; each value is read at most once in `for_s` seconds.

    Concurrent callers wait for the same value.
    """

    def __init__(
        self, *, for_s: float, limit: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._for_s, self._limit, self._clock = for_s, limit, clock
        self._entries: dict[Hashable, _Entry[T]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, read: Callable[[], T]) -> T:
        """Return the value of `read`, or the value that another caller has just read."""
        with self._lock:
            if key not in self._entries and len(self._entries) >= self._limit:
                self._entries.clear()
            entry = self._entries.setdefault(key, _Entry())
        with entry.lock:
            now = self._clock()
            if entry.value is None or now - entry.read_at >= self._for_s:
                entry.value = None
                entry.value = read()
                # Take the time before reading, so that a value is never older than `for_s` seconds.
                entry.read_at = now
            return entry.value


def ask_again_s(
    status: EditionStatus, *, hidden: bool = False, unchanged: int = 0, pages: int = 1
) -> float | None:
    """Return the seconds until the next poll; None if there is no next poll.

    `unchanged` is the number of polls in a row that brought no news.
    """
    if is_at_rest(status):
        return None
    pause = LONGEST_S
    if not hidden:
        pause = _pause(status)
        if unchanged > 0:
            pause = max(pause, min(LONGEST_S, QUIET_S * GROWS_BY ** (min(unchanged, 20) - 1)))
        # If the time of the next event is known, poll just after it.
        pause = min(pause, max(SOON_S, _until_something_happens(status) + 0.5))
    return round(max(pause, pages / READINGS_PER_S), 1)


def ask_desk_again_s(*, is_sending: bool, hidden: bool = False, unchanged: int = 0) -> float:
    """Return the seconds until an open page of the desk polls again."""
    if hidden:
        return LONGEST_S
    return min(LONGEST_S, (DESK_S if is_sending else DESK_IDLE_S) * GROWS_BY ** min(unchanged, 10))


def reload_s(status: EditionStatus) -> int | None:
    """Return the seconds until a page without scripts reloads; None for never."""
    pause = ask_again_s(status)
    return None if pause is None else max(RELOAD_AT_LEAST_S, round(pause))


def _pause(status: EditionStatus) -> float:
    counts = status.counts
    match status.state:
        case EditionState.HELD:
            return SOON_S
        case EditionState.PAUSED | EditionState.NEEDS_ATTENTION | EditionState.SCHEDULED:
            return QUIET_S
    if _until_something_happens(status) <= QUIET_S:
        return SOON_S
    if status.eta_s is not None:
        return min(LONGEST_STEP_S, max(SOON_S, status.eta_s / STEPS))
    starting = (counts.now - counts.held_until).total_seconds() < STARTING_S
    return SOON_S if starting else LONGEST_STEP_S / 2


def _until_something_happens(status: EditionStatus) -> float:
    counts = status.counts
    times: list[datetime | None] = []
    if status.state is EditionState.HELD:
        times.append(counts.held_until)
    elif status.state is EditionState.SCHEDULED and counts.scheduled:
        times.append(counts.scheduled.utc)
    elif status.state is EditionState.SENDING:
        times += [counts.next_try_at, counts.next_lookup_at]
    return min(
        ((at - counts.now).total_seconds() for at in times if at is not None and at > counts.now),
        default=float("inf"),
    )

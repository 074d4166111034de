"""Crash points: numbered, named, and the death of a process at one of them."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OURS = tuple(
    f"{ROOT / package}{os.sep}"
    for package in ("delivery", "idempotency", "newsletter_site", "publishing", "subscribers")
)
# Every transaction of the queue goes through here; who opened it says more.
SAYS_NOTHING = ("short_transaction.py",)


@dataclass(frozen=True)
class Point:
    """
    One instant. `world` counts what had been committed or answered before it: to everybody but
    the killed process itself, points of one world are the same.
    """

    number: int
    label: str
    world: int

    def __str__(self) -> str:
        return f"{self.number} {self.label}"


class Watch:
    """What a process knows of its own points. Nothing is counted until `begin`."""

    def __init__(self) -> None:
        self.passed: list[Point] = []
        self._is_on = False
        self._number = 0
        self._world = 0
        self._fatal: int | None = None
        self._last_words: Callable[[Point], None] | None = None

    def begin(self, fatal: int | None, last_words: Callable[[Point], None]) -> None:
        """Count from here on; at point number `fatal`, tell `last_words` of it and die."""
        self._is_on = True
        self._fatal = fatal
        self._last_words = last_words

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """What is done here is the test's own doing, and has no points."""
        was_on, self._is_on = self._is_on, False
        try:
            yield
        finally:
            self._is_on = was_on

    def changed(self) -> None:
        """Something has become true that outlives this process."""
        self._world += self._is_on

    def point(self, what: str, kill: Callable[[], None] | None = None) -> None:
        """One more point. `kill` is how to die here, if not at once by one's own hand."""
        if not self._is_on:
            return
        self._number += 1
        if self._fatal is None:
            self.passed.append(Point(self._number, f"{_place()}: {what}", self._world))
        elif self._number == self._fatal:
            assert self._last_words is not None
            self._last_words(Point(self._number, f"{_place()}: {what}", self._world))
            (kill or _die)()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _place() -> str:
    """File and function of ours that are at work, the innermost that says something."""
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        file = frame.f_code.co_filename
        if file.startswith(OURS) and not file.endswith(SAYS_NOTHING):
            return f"{Path(file).relative_to(ROOT)}:{frame.f_code.co_name}"
    return "nobody of ours"


# The one watch of this process; a forked child has its own.
watch = Watch()


def listen_to_calls(kill_when_answered: Callable[[int], None]) -> None:
    """
    Give every call its points, from here on and for good: before connecting, before each piece of
    the request, and when the answer is there but not a byte of it has been read.

    `kill_when_answered(pid)` has somebody else kill this process at that last instant, when it can
    do nothing itself.
    """

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "http.client.connect":
            watch.point("before connecting")
        elif event == "http.client.send":
            verb = bytes(arguments[1]).split(b" ", 1)[0]
            if verb == b"POST":
                watch.point("before the head of a POST")
                return
            watch.point(f"before {'a GET' if verb == b'GET' else 'the body of a POST'}")
            watch.changed()
            watch.point(
                "answered, not a byte of it read", kill=lambda: kill_when_answered(os.getpid())
            )

    sys.addaudithook(hear)

"""Number and name the crash points, and kill the process at one of them."""

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
# Every transaction of the queue calls a function of this file, so a point is named after the
# function's caller.
SAYS_NOTHING = ("short_transaction.py",)
# The last piece of a message over SMTP.
END_OF_MESSAGE = b".\r\n"
SMTP_PIECES = {
    b"MAIL": "MAIL",
    b"RCPT": "RCPT",
    b"DATA": "DATA",
    b"FROM": "the content of a message",
    b".\r\n": "the end of a message",
}


@dataclass(frozen=True)
class Point:
    """One instant of a scenario.

    `world` counts the commits and answers before this instant. Two points of the same world differ
    only for the killed process itself.
    """

    number: int
    label: str
    world: int

    def __str__(self) -> str:
        return f"{self.number} {self.label}"


class Watch:
    """The points that this process has passed. Counting starts with `begin`."""

    def __init__(self) -> None:
        self.passed: list[Point] = []
        self._is_on = False
        self._number = 0
        self._world = 0
        self._fatal: int | None = None
        self._last_words: Callable[[Point], None] | None = None

    def begin(self, fatal: int | None, last_words: Callable[[Point], None]) -> None:
        """Start counting points; at point number `fatal`, call `last_words` and die."""
        self._is_on = True
        self._fatal = fatal
        self._last_words = last_words

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """Exclude the test's own actions from the points."""
        was_on, self._is_on = self._is_on, False
        try:
            yield
        finally:
            self._is_on = was_on

    def changed(self) -> None:
        """Start a new world, because a change has been made that survives this process."""
        self._world += self._is_on

    def point(self, what: str, kill: Callable[[], None] | None = None) -> None:
        """Pass one more point. At the fatal point, call `kill`; by default, die."""
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
    """Return the innermost of our running functions whose name is useful."""
    frame = sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        file = frame.f_code.co_filename
        if file.startswith(OURS) and not file.endswith(SAYS_NOTHING):
            return f"{Path(file).relative_to(ROOT)}:{frame.f_code.co_name}"
    return "nobody of ours"


# The only watch of this process. A forked child has its own copy of the watch.
watch = Watch()


def listen_to_calls(kill_when_answered: Callable[[int], None]) -> None:
    """Add points to every call that this process makes from now on.

    The points are: before connecting, before each part of a request or command of SMTP, and when
    the answer has arrived but is unread. At the last of these points, this process cannot kill
    itself, because it waits for the answer. So `kill_when_answered(pid)` makes another process kill
    this one.
    """

    def await_answer() -> None:
        watch.changed()
        watch.point("answered, not a byte of it read", kill=lambda: kill_when_answered(os.getpid()))

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event in {"http.client.connect", "smtplib.connect"}:
            watch.point("before connecting")
        elif event == "smtplib.send":
            written = bytes(arguments[1])
            watch.point(f"before {SMTP_PIECES.get(written[:4].upper(), 'a command')}")
            # Only the end of a message changes anything at the server.
            if written == END_OF_MESSAGE:
                await_answer()
        elif event == "http.client.send":
            verb = bytes(arguments[1]).split(b" ", 1)[0]
            if verb == b"POST":
                watch.point("before the head of a POST")
                return
            watch.point(f"before {'a GET' if verb == b'GET' else 'the body of a POST'}")
            await_answer()

    sys.addaudithook(hear)

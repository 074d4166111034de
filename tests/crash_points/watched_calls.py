"""The only place that tells the watch what is said to the provider."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from tests.crash_points.points import watch


def listen(kill_when_answered: Callable[[int], None]) -> None:
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
            piece = bytes(arguments[1])
            verb = piece.split(b" ", 1)[0]
            if verb == b"POST":
                watch.point("before the head of a POST")
                return
            watch.point(f"before {'a GET' if verb == b'GET' else 'the body of a POST'}")
            watch.changed()
            watch.point(
                "answered, not a byte of it read", kill=lambda: kill_when_answered(os.getpid())
            )

    sys.addaudithook(hear)

"""
Keeps threads of a web process free for those who ask whether it lives.

A page waits for a database that hangs as long as that hangs, and holds its thread meanwhile. So
fewer pages are worked at than there are threads (deploy/gunicorn.conf.py). Whoever finds no place
waits for one, as in any rush. Once somebody waited in vain, and until a page is finished in time
again, whoever finds no place is sent away at once: then no queue of pages stands before a probe.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from newsletter_site.middleware.service_unavailable import come_again

logger = logging.getLogger(__name__)

MAX_CONCURRENT_REQUESTS = 8
# Longer than pages take on a busy machine, and short enough for those who probe.
MAX_WAIT_S = 3.0


class RequestSlots:
    """So many may be in at once. Safe for any number of threads."""

    def __init__(
        self, number: int = MAX_CONCURRENT_REQUESTS, patience_s: float = MAX_WAIT_S
    ) -> None:
        self._free = number
        self._patience_s = patience_s
        self._one_left = threading.Condition()
        # Whether whoever finds no place is sent away at once.
        self.is_stuck = False

    def enter(self) -> bool:
        """Take a place, or wait for one; `False` says that there is none. See `leave`."""
        with self._one_left:
            self._one_left.wait_for(lambda: self._free or self.is_stuck, self._patience_s)
            if self._free:
                self._free -= 1
                return True
            if not self.is_stuck:
                self.is_stuck = True
                self._one_left.notify_all()
                logger.error(
                    "no page was finished for %g seconds; while all places are taken, whoever asks "
                    "for one is told to come again",
                    self._patience_s,
                )
            return False

    def leave(self, after_s: float) -> None:
        """Give the place back, after so many seconds."""
        with self._one_left:
            self._free += 1
            if after_s < self._patience_s:
                self.is_stuck = False
            self._one_left.notify()


class LimitConcurrency:
    """
    Middleware before all that ask the database, and behind files and the doors of operators.

    What it sends away was not begun.
    """

    def __init__(
        self,
        get_response: Callable[[HttpRequest], HttpResponseBase],
        places: RequestSlots | None = None,
    ) -> None:
        self.get_response = get_response
        self._places = places or RequestSlots()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not self._places.enter():
            return come_again(
                request,
                why="This site has more to do than it can do just now.",
                was_begun=False,
            )
        began_s = time.monotonic()

        def leave() -> None:
            self._places.leave(time.monotonic() - began_s)

        try:
            response = self.get_response(request)
        except BaseException:
            leave()
            raise
        if response.streaming:
            # Its rows are read while it is sent. django-stubs leaves Django's list out.
            response._resource_closers.append(leave)  # type: ignore[attr-defined]
        else:
            leave()
        return response

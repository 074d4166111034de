"""Allow fewer concurrent requests than the web server has threads.

Threads above this limit stay free for health checks.
"""

import logging
import threading
import time
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from newsletter_site.middleware.browser_language import in_browser_language
from newsletter_site.middleware.error_pages import service_unavailable

logger = logging.getLogger(__name__)

MAX_CONCURRENT_REQUESTS = 8
# A request that finds no free slot waits at most this long. Even on a busy machine, a page needs
# its slot for less time. The wait is short, because the waiting request may occupy a thread that a
# health check needs.
MAX_WAIT_S = 3.0


class RequestSlots:
    """Slots for at most `number` concurrent requests. Thread-safe."""

    def __init__(
        self, number: int = MAX_CONCURRENT_REQUESTS, max_wait_s: float = MAX_WAIT_S
    ) -> None:
        self._free = number
        self._max_wait_s = max_wait_s
        self._changed = threading.Condition()
        self.is_stuck = False

    def acquire(self) -> bool:
        """Take a slot, or wait for a slot. Return False if no slot became free."""
        with self._changed:
            self._changed.wait_for(lambda: self._free or self.is_stuck, self._max_wait_s)
            if self._free:
                self._free -= 1
                return True
            if not self.is_stuck:
                self.is_stuck = True
                self._changed.notify_all()
                logger.error(
                    "no request finished within %g seconds; new requests are refused while all "
                    "slots are taken",
                    self._max_wait_s,
                )
            return False

    def release(self, held_s: float) -> None:
        """Release a slot that was held for `held_s` seconds."""
        with self._changed:
            self._free += 1
            if held_s < self._max_wait_s:
                self.is_stuck = False
            self._changed.notify()


class LimitConcurrency:
    """Middleware that limits how many requests run at the same time.

    In the settings, the middleware for static files comes before this class, and middleware that
    queries the database comes after it.
    """

    def __init__(
        self,
        get_response: Callable[[HttpRequest], HttpResponseBase],
        slots: RequestSlots | None = None,
    ) -> None:
        self.get_response = get_response
        self._slots = slots or RequestSlots()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not self._slots.acquire():
            with in_browser_language(request):
                why = _("The site is too busy at the moment.")
                return service_unavailable(request, why=why, was_begun=False)
        started_s = time.monotonic()

        def release() -> None:
            self._slots.release(time.monotonic() - started_s)

        try:
            response = self.get_response(request)
        except BaseException:
            release()
            raise
        if response.streaming:
            # Release the slot only when the response is closed, because rows may still be read
            # while the response is sent. django-stubs does not know `_resource_closers`.
            response._resource_closers.append(release)  # type: ignore[attr-defined]
        else:
            release()
        return response

"""Log a database outage once when it begins and once when it ends.

Dozens of errors a minute from every thread would hide that they have one cause."""

import logging
import threading

from django.db import Error, connection

from delivery.postmark.client import now_s
from delivery.worker.retry_write import is_transient

logger = logging.getLogger(__name__)


class OutageLog:
    """Whether the database cannot be reached, for all threads of one worker."""

    def __init__(self) -> None:
        self._since_s: float | None = None
        self._ended_s = float("-inf")
        self._lock = threading.Lock()

    def explains(self, error: BaseException, began_s: float) -> bool:
        """Whether an outage explains the failure of work that began at `began_s`.

        The outage may continue, or have ended after `began_s`, a reading of `now_s()`. Logs an
        outage that just began. Call it within the `except`, without an open transaction. It may
        take as long as connecting. A cut connection is not an outage."""
        if not isinstance(error, Error) or not is_transient(error):
            return False
        with self._lock:
            # Another thread may have noticed the end before this one reported its error.
            if self._since_s is None and began_s > self._ended_s:
                if _answers():
                    return False
                self._since_s = now_s()
                logger.error(
                    "the database cannot be reached; nothing is lost, and work is retried",
                    exc_info=error,
                )
        return True

    def check_end(self) -> None:
        """Log that the database is back, after an outage. Call it after a success."""
        if self._since_s is None:
            return
        with self._lock:
            if self._since_s is not None and _answers():
                self._ended_s = now_s()
                logger.info("the database is back, after %.0f s", self._ended_s - self._since_s)
                self._since_s = None


def _answers() -> bool:
    """Whether the database answers on a new connection, which stays open if it does."""
    try:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        connection.close()
        return False
    return True

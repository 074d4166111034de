"""
The database away, as a worker meets it: said once when it goes and once when it is back.

Every thread of a worker fails again and again meanwhile; nothing is lost by it, and dozens of
faults a minute would hide that they are one. A line that was only cut, with a database that takes
the next, is no outage: what failed by it is told as it is.
"""

from __future__ import annotations

import logging
import threading

from django.db import Error, connection

from delivery.postmark.client import now_s
from delivery.worker.retry_write import is_transient

logger = logging.getLogger(__name__)


class Outage:
    """Whether the database is away, for all threads of one worker."""

    def __init__(self) -> None:
        self._since_s: float | None = None
        self._deciding = threading.Lock()

    def is_why(self, fault: BaseException) -> bool:
        """
        Whether something failed because the database is away; says so if it has just gone.

        To be asked from within the `except`, with no transaction open. Asks the database, on a new
        connection, so it may take as long as connecting may.
        """
        if not isinstance(fault, Error) or not is_transient(fault):
            return False
        with self._deciding:
            if self._since_s is None:
                if _answers():
                    return False
                self._since_s = now_s()
                logger.error(
                    "the database is away; nothing is lost, and all is tried again until it is "
                    "back",
                    exc_info=fault,
                )
        return True

    def look_whether_over(self) -> None:
        """Say that the database is back, if it was away and is. To be called when all is well."""
        if self._since_s is None:
            return
        with self._deciding:
            if self._since_s is not None and _answers():
                logger.info("the database is back, after %.0f s", now_s() - self._since_s)
                self._since_s = None


def _answers() -> bool:
    """Whether the database answers on a new connection, which is left open if it does."""
    try:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        connection.close()
        return False
    return True

"""
Adds what a process has counted to the table: a web process now and then, a command at its end.

Workers do it by themselves, in their watch. A web process has a small thread for it, which sleeps
while nothing is counted, and holds no connection meanwhile.
"""

from __future__ import annotations

import logging
import os
import threading
import time

from django.db import connection

from delivery.monitoring.metrics_buffer import metrics_buffer
from delivery.monitoring.metrics_table import flush

logger = logging.getLogger(__name__)

EVERY_S = 5.0


class _Flusher:
    """The thread of one process. A server forks: the thread belongs to the process it began in."""

    def __init__(self) -> None:
        self.is_wanted = False
        self._lock = threading.Lock()
        self._process = 0
        self._counted = threading.Event()

    def wake(self) -> None:
        """See to it that what was counted is added soon."""
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():
                    self._counted = threading.Event()
                    threading.Thread(target=self._repeat, name="tallies", daemon=True).start()
                    self._process = os.getpid()
        self._counted.set()

    def _repeat(self) -> None:
        counted = self._counted
        failed_before = False
        while True:
            counted.wait()
            counted.clear()
            time.sleep(EVERY_S)
            try:
                flush()
                failed_before = False
            except Exception as error:  # noqa: BLE001 -- counting must not end for a fault
                counted.set()
                if not failed_before:
                    logger.warning(
                        "what was counted could not be written down, and waits: %s",
                        type(error).__name__,
                    )
                failed_before = True
            finally:
                _close()


_flusher = _Flusher()


def begin() -> None:
    """This is a web process: have what it counts added from now on."""
    _flusher.is_wanted = True


def something_was_counted() -> None:
    """Cheap; nothing happens outside a web process."""
    if _flusher.is_wanted:
        _flusher.wake()


def flush_at_the_end() -> None:
    """For a command: add what is left, once. A database that is away is no reason to fail."""
    if metrics_buffer.is_empty:
        return
    try:
        flush()
    except Exception as error:  # noqa: BLE001 -- see above
        logger.warning("what was counted could not be written down: %s", type(error).__name__)


def _close() -> None:
    try:
        connection.close()
    except Exception as error:  # noqa: BLE001 -- it is gone either way
        logger.warning("closing a database connection failed: %s", type(error).__name__)

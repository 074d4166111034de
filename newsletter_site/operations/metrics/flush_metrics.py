"""Adds the counts of a process to the table: in a thread of a web process, at a command's end."""

import logging
import os
import threading
import time

from django.db import connection

from delivery.monitoring.metrics_storage import flush, metrics_buffer

logger = logging.getLogger(__name__)

FLUSH_EVERY_S = 5.0


class _Flusher:
    """The thread of one process. After a fork the new process starts its own."""

    def __init__(self) -> None:
        self.is_enabled = False  # on in a web process
        self._lock = threading.Lock()
        self._process = 0
        self._counted = threading.Event()

    def schedule(self) -> None:
        """Flush soon. Cheap; does nothing outside a web process."""
        if not self.is_enabled:
            return
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():
                    self._counted = threading.Event()
                    threading.Thread(target=self._repeat, name="flush metrics", daemon=True).start()
                    self._process = os.getpid()
        self._counted.set()

    def _repeat(self) -> None:
        counted = self._counted
        failed_before = False
        while True:
            counted.wait()
            counted.clear()
            time.sleep(FLUSH_EVERY_S)
            failed = not _try_to_flush(logging.DEBUG if failed_before else logging.WARNING)
            if failed:
                counted.set()
            failed_before = failed
            try:
                connection.close()
            except Exception as error:  # noqa: BLE001 -- it is gone either way
                logger.warning("closing a database connection failed: %s", type(error).__name__)


flusher = _Flusher()


def flush_at_exit() -> None:
    """Flush once, where something is left. A database that is away is no reason to fail."""
    if not metrics_buffer.is_empty:
        _try_to_flush(logging.WARNING)


def _try_to_flush(level: int) -> bool:
    try:
        flush()
    except Exception as error:  # noqa: BLE001 -- no error may end counting
        logger.log(level, "metrics could not be written and wait: %s", type(error).__name__)
        return False
    return True

"""Write a process's counts to the table: in a web process's thread, or at exit."""

import logging
import os
import threading
import time
from functools import cache

from django.db import connection

from delivery.monitoring.database_fault import DatabaseFault, fault_of_web_process
from delivery.monitoring.metrics_storage import flush

logger = logging.getLogger(__name__)

# A web process writes its counts this often, so that it notices failing writes soon.
FLUSH_EVERY_S = 5.0


class _Flusher:
    is_enabled = False  # True in a web process

    def schedule(self) -> None:
        """Flush soon. Outside a web process, this does nothing."""
        if self.is_enabled:
            _start_thread(os.getpid()).set()


flusher = _Flusher()


@cache
def _start_thread(process: int) -> threading.Event:
    """Start the thread once in each process: a forked process inherits no threads."""
    counted = threading.Event()
    threading.Thread(target=_repeat, args=[counted], name="flush metrics", daemon=True).start()
    return counted


def _repeat(counted: threading.Event) -> None:
    level = logging.WARNING
    while True:
        counted.wait()
        counted.clear()
        time.sleep(FLUSH_EVERY_S)
        if try_to_flush(level, fault_of_web_process):
            level = logging.WARNING
        else:
            level = logging.DEBUG
            counted.set()
        try:
            connection.close()
        except Exception as error:  # noqa: BLE001 -- the connection is lost anyway
            logger.warning("closing a database connection failed: %s", type(error).__name__)


def flush_at_exit() -> None:
    """Flush once. If the database fails, only log the error."""
    try_to_flush(logging.WARNING)


def try_to_flush(level: int, fault: DatabaseFault | None = None) -> bool:
    """Flush; return whether it succeeded. A failure is logged and recorded in `fault`."""
    began_s = time.monotonic()
    try:
        flush()
    except Exception as error:  # noqa: BLE001 -- errors must not end counting
        if fault is None or not fault.explains(error, "metrics", began_s):
            logger.log(level, "metrics could not be written yet: %s", type(error).__name__)
        return False
    if fault is not None:
        fault.succeeded("metrics")
    return True

"""Retry a write of results that only this worker knows, while its claim is valid.

Every write repeats the claim's epoch, so a retry does no harm. If the write were not retried, the
batch would need a look-up.
"""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import Error, connection

from delivery.monitoring.database_fault import DatabaseFault, is_transient
from delivery.provider.deadline_clock import now_s

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

FIRST_SPAN_S = 0.1
# The longest pause between two tries. On a full disk, each try for each call in flight adds a line
# to PostgreSQL's log.
LONGEST_PAUSE_S = 10.0
# While the worker is stopping, the limit is short, because the process that stops it does not wait
# long.
PATIENCE_WHEN_STOPPING_S = 5.0
LONGEST_PAUSE_WHEN_STOPPING_S = 1.0


def pause_after(failures: int, jitter: float, left_s: float) -> float | None:
    """Compute the seconds to wait after failures in a row, or None to give up.

    The second try always comes at once, because a cut connection needs no wait. Each later try
    comes after a random part of a span that doubles, within the `left_s` seconds that are left.
    """
    if failures == 1:
        return 0.0
    if left_s <= 0:
        return None
    span = min(LONGEST_PAUSE_S, FIRST_SPAN_S * 2.0 ** min(failures - 2, 30))
    return min(left_s, max(FIRST_SPAN_S / 2, jitter * span))


def retry_write(
    write: Callable[[], Result],
    *,
    what: str,
    work: str,
    fault: DatabaseFault,
    until_s: float,
    is_stopping: Callable[[], bool],
    jitter: Callable[[], float],
) -> Result:
    """Call `write`, and call it again while the database has a temporary fault.

    Returns its result. Raises the last error at `until_s`, a reading of `now_s()`, or sooner if the
    worker is stopping. `what` names the write in the log. `work` names the kind of work that
    `fault` records.
    """
    failures = 0
    while True:
        began_s = now_s()
        try:
            result = write()
        except Error as error:
            # A failed connection must not be reused.
            connection.close()
            if not is_transient(error):
                raise
            failures += 1
            if is_stopping():
                until_s = min(until_s, now_s() + PATIENCE_WHEN_STOPPING_S)
            pause = pause_after(failures, jitter(), until_s - now_s())
            if pause is None:
                raise
            explained = fault.explains(error, work, began_s)
            level = logging.DEBUG if explained else logging.WARNING
            logger.log(level, "%s could not be written and is tried again: %s", what, error)
            _sleep(pause, is_stopping)
        else:
            fault.succeeded(work)
            return result


def _sleep(pause_s: float, is_stopping: Callable[[], bool]) -> None:
    """Sleep in parts, so that a worker that is stopping tries again soon."""
    until_s = now_s() + pause_s
    while (left_s := until_s - now_s()) > 0:
        time.sleep(min(left_s, LONGEST_PAUSE_WHEN_STOPPING_S))
        if is_stopping():
            return

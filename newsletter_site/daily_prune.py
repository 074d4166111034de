"""
Prunes once a day, also where nobody has set up a timer.

One worker at a time, under a lease that is extended after every chunk.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable

from django.db import connection

from delivery.tasks import periodic_tasks
from delivery.tasks.background_tasks import BackgroundTask
from newsletter_site.retention import prune

logger = logging.getLogger(__name__)

NAME = "prune"
EVERY_S = 86_400.0
# A worker that has just been deployed has better things to do.
FIRST_AFTER_S = 3_600.0
AGAIN_AFTER_S = 3_600.0
# Much longer than a piece and the rest after it.
LEASE_S = 120.0
LOOKS_EVERY_S = 60.0


class DailyPrune:
    """Looks now and then whether it is due, and holds no connection in between."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._looks_at_s = 0.0

    def work(self, is_stopping: Callable[[], bool]) -> bool:
        """Prune if it is due and nobody else does. Never says that there is more of it."""
        if self._clock_s() >= self._looks_at_s:
            self._looks_at_s = self._clock_s() + LOOKS_EVERY_S
            prune_if_due(is_stopping)
            connection.close()
        return False


def prune_if_due(is_stopping: Callable[[], bool]) -> bool:
    """Whether it was due, and nobody on it."""
    periodic_tasks.ensure_exists(NAME, due_in_s=FIRST_AFTER_S)
    mine = periodic_tasks.acquire(NAME, uuid.uuid4(), lease_s=LEASE_S)
    if mine is None:
        return False
    try:
        done = prune(
            may_go_on=lambda: (
                not is_stopping() and periodic_tasks.extend_lease(mine, lease_s=LEASE_S)
            )
        )
    except BaseException:
        periodic_tasks.fail(mine, "It broke off; the log says why.", again_in_s=AGAIN_AFTER_S)
        raise
    gone = {each.kind.name: each.number for each in done if each.number}
    if gone:
        logger.info("what is older than it is kept went: %s", gone)
    troubles = [f"{each.kind.what}: {each.trouble}" for each in done if each.trouble]
    if troubles:
        periodic_tasks.fail(mine, "; ".join(troubles), again_in_s=AGAIN_AFTER_S)
    elif all(each.is_whole for each in done):
        periodic_tasks.finish(mine, again_in_s=EVERY_S)
    else:
        periodic_tasks.release(mine)
    return True


# Nobody waits for it: a worker that is to end when nothing is left does.
CHORE = BackgroundTask("what goes with time", DailyPrune().work, lambda: False)

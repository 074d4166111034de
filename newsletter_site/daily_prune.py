"""The worker's daily task `prune`, which extends its lease after each piece."""

import logging
import uuid
from collections.abc import Callable

from django.db import connection

from delivery.rules.reason import Reason, ReasonCode
from delivery.tasks import periodic_task_lease
from delivery.tasks.periodic_task_lease import TaskInterruptedError, TaskPostponedError
from delivery.tasks.register_background_task import BackgroundTask
from newsletter_site.data_retention import prune

logger = logging.getLogger(__name__)

NAME = "prune"
EVERY_S = 86_400.0
FIRST_AFTER_S = 3_600.0
RETRY_AFTER_S = 3_600.0
LEASE_S = 120.0  # much longer than a piece and its pause
POLL_S = 60.0


def prune_if_due(is_stopping: Callable[[], bool]) -> bool:
    """Prune if it is due and no other worker does it. Return whether this worker did."""
    periodic_task_lease.ensure_exists(NAME, due_in_s=FIRST_AFTER_S)
    lease = periodic_task_lease.acquire(NAME, uuid.uuid4(), lease_s=LEASE_S)
    if lease is None:
        return False
    with periodic_task_lease.running(
        lease, again_in_s=EVERY_S, retry_base_s=RETRY_AFTER_S, retry_cap_s=RETRY_AFTER_S
    ):
        done = prune(
            may_continue=lambda: (
                not is_stopping() and periodic_task_lease.extend_lease(lease, lease_s=LEASE_S)
            )
        )
        deleted = {pruned.rule.name: pruned.number for pruned in done if pruned.number}
        if deleted:
            logger.info("old rows were deleted: %s", deleted)
        if failed := [pruned.rule.name for pruned in done if pruned.error]:
            raise TaskPostponedError(Reason.of(ReasonCode.OLD_DATA_KEPT, rules=failed))
        if not all(pruned.is_complete for pruned in done):
            raise TaskInterruptedError
    return True


def _work(is_stopping: Callable[[], bool]) -> bool:
    prune_if_due(is_stopping)
    connection.close()  # This thread needs no connection until the next poll.
    return False


# This task has no function that counts due work, so `deliver --until-empty` does not wait for it.
DAILY_PRUNE = BackgroundTask("old rows", _work, every_s=POLL_S)

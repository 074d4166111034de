"""
Tells the provider whom we mail no more, and whom again: what `ask_provider` put down.

So that no other tool on the same server mails who has left here, and so that who came back is not
refused for what lies behind them. One worker at a time; the calls can be repeated, so that an
answer that got lost is asked for again.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence

from delivery.configuration import postmark_from_settings
from delivery.feedback import suppression_changes
from delivery.feedback.suppression_changes import Change, PendingChange
from delivery.postmark.client import Postmark, now_s
from delivery.rules import retries
from delivery.rules.call_results import NoInformation
from delivery.tasks import periodic_tasks

logger = logging.getLogger(__name__)

NAME = "push suppression changes"
# Postmark takes no more in one call.
MOST_AT_ONCE = 50
LONGEST_CALL_S = 30.0
# Longer than a call, so that no second worker sends while a first still may.
LEASE_S = 120.0
AGAIN_AFTER_S = 5.0
AGAIN_AT_LAST_S = 900.0


def push(is_stopping: Callable[[], bool]) -> None:
    """Send what waits, if anything does. An errand of every worker."""
    if not suppression_changes.load_pending_streams():
        return
    periodic_tasks.ensure_exists(NAME)
    mine = periodic_tasks.acquire(NAME, uuid.uuid4(), lease_s=LEASE_S)
    if mine is None:
        return
    postmark = postmark_from_settings()
    try:
        trouble = _send_all(
            postmark,
            lambda: not is_stopping() and periodic_tasks.extend_lease(mine, lease_s=LEASE_S),
        )
    except BaseException:
        periodic_tasks.fail(
            mine, "It broke off; the log says why.", again_in_s=_pause_s(mine.failures)
        )
        raise
    finally:
        postmark.close()
    if trouble is None:
        periodic_tasks.finish(mine, again_in_s=0)
        return
    wait_s = max(trouble.retry_after_s or 0.0, _pause_s(mine.failures))
    logger.warning(
        "suppressions could not be changed: %s Tried again in %d s", trouble.reason, wait_s
    )
    periodic_tasks.fail(mine, trouble.reason, again_in_s=wait_s)


def _send_all(postmark: Postmark, may_go_on: Callable[[], bool]) -> NoInformation | None:
    """Send until nothing waits; the trouble that ended it before, if any."""
    suppression_changes.supersede()
    for stream in suppression_changes.load_pending_streams():
        for change in ("suppress", "reactivate"):
            while may_go_on():
                waiting = suppression_changes.load_pending(stream, change, most=MOST_AT_ONCE)
                if not waiting:
                    break
                trouble = _send(postmark, stream, change, waiting)
                if trouble is not None:
                    return trouble
    return None


def _send(
    postmark: Postmark, stream: str, change: Change, waiting: Sequence[PendingChange]
) -> NoInformation | None:
    call = postmark.suppress if change == "suppress" else postmark.reactivate
    answer = call(
        stream,
        [each.address for each in waiting],
        deadline_at_s=now_s() + min(LONGEST_CALL_S, postmark.deadline_s),
    )
    if isinstance(answer, NoInformation):
        return answer
    told = {
        each.id: answer[each.address.lower()] for each in waiting if each.address.lower() in answer
    }
    suppression_changes.settle(told)
    if len(told) < len(waiting):
        return NoInformation("Postmark did not answer for every address.")
    return None


def _pause_s(failures: int) -> float:
    policy = retries.Policy(AGAIN_AFTER_S, AGAIN_AT_LAST_S, 1, (0.0,), True)
    return max(AGAIN_AFTER_S / 2, retries.delay_after(failures + 1, 1.0, policy))

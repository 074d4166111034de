"""Sends queued suppression changes to the provider, from one worker at a time."""

import uuid
from collections.abc import Callable, Sequence
from contextlib import closing

from delivery.configuration import postmark_from_settings
from delivery.feedback import suppression_changes
from delivery.feedback.suppression_changes import Change
from delivery.models import SuppressionChange
from delivery.postmark.client import Postmark, now_s
from delivery.postmark.responses import SUPPRESSION_CHANGE
from delivery.rules.call_results import SearchFailed
from delivery.rules.reason import Reason, ReasonCode
from delivery.tasks import periodic_tasks
from delivery.tasks.periodic_tasks import TaskPostponedError

NAME = "push suppression changes"
# Postmark's limit for one call.
MAX_CHANGES = 50
MAX_CALL_S = 30.0
# Longer than a call, so that no second worker sends while a first still may.
LEASE_S = 120.0
RETRY_BASE_S = 5.0
RETRY_CAP_S = 900.0


def push(is_stopping: Callable[[], bool]) -> None:
    """Send pending changes, if there are any. Every worker runs this."""
    if not suppression_changes.load_pending_streams():
        return
    periodic_tasks.ensure_exists(NAME)
    lease = periodic_tasks.acquire(NAME, uuid.uuid4(), lease_s=LEASE_S)
    if lease is None:
        return
    with (
        closing(postmark_from_settings()) as postmark,
        periodic_tasks.running(
            lease, again_in_s=0, retry_base_s=RETRY_BASE_S, retry_cap_s=RETRY_CAP_S
        ),
    ):
        _send_all(
            postmark,
            lambda: not is_stopping() and periodic_tasks.extend_lease(lease, lease_s=LEASE_S),
        )


def _send_all(postmark: Postmark, may_continue: Callable[[], bool]) -> None:
    suppression_changes.supersede()
    for stream in suppression_changes.load_pending_streams():
        for change in ("suppress", "reactivate"):
            while may_continue():
                pending = suppression_changes.load_pending(stream, change, most=MAX_CHANGES)
                if not pending:
                    break
                _send(postmark, stream, change, pending)


def _send(
    postmark: Postmark, stream: str, change: Change, pending: Sequence[SuppressionChange]
) -> None:
    results = postmark.change_suppressions(
        change,
        stream,
        [each.address for each in pending],
        deadline_at_s=now_s() + min(MAX_CALL_S, postmark.deadline_s),
    )
    if isinstance(results, SearchFailed):
        raise TaskPostponedError(results.reason, results.retry_after_s)
    named = [each for each in pending if each.address.lower() in results]
    suppression_changes.settle({each.id: results[each.address.lower()] for each in named})
    if len(named) < len(pending):
        raise TaskPostponedError(Reason.of(ReasonCode.QUERY_INCOMPLETE, subject=SUPPRESSION_CHANGE))

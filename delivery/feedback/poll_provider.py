"""Poll the provider's bounces and suppression lists, because webhooks get lost.

The thread that polls also sends the provider the changes of its suppression lists.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta

from django.conf import settings

from delivery.feedback import event_inbox, lift_for_mail, send_suppression_changes
from delivery.feedback.latest_suppression_entries import filter_changed
from delivery.provider.events import AddressSuppressed
from delivery.provider.from_settings import capabilities, provider_from_settings
from delivery.provider.provider_protocol import Provider, QueryFailedError
from delivery.tasks import periodic_task_lease
from delivery.tasks.periodic_task_lease import Lease, TaskInterruptedError, TaskPostponedError
from delivery.tasks.register_background_task import BackgroundTask

logger = logging.getLogger(__name__)

# The deadline of a call, except for a suppression list, which may be long.
MAX_CALL_S = 30.0
# A lease is longer than a call plus the time to apply the call's events.
LEASE_S = 180.0
# Each poll overlaps the previous poll by this time, because providers list some entries late and
# clocks differ.
OVERLAP = timedelta(hours=2)
RETRY_BASE_S = 60.0
TASKS_EVERY_S = 5.0
_is_busy = threading.Event()


def polling_tasks_by_stream() -> dict[str, str]:
    """Return the name of the polling task for each stream that the provider lists."""
    if not capabilities().is_polled:
        return {}
    streams = (settings.BROADCAST_STREAM, settings.TRANSACTIONAL_STREAM)
    return {stream: f"poll {stream}" for stream in streams}


def poll(is_stopping: Callable[[], bool]) -> None:
    """Poll every stream that is due. Every worker calls this function repeatedly."""
    for stream, name in polling_tasks_by_stream().items():
        periodic_task_lease.ensure_exists(name)
        lease = periodic_task_lease.acquire(name, lease_s=LEASE_S, after_publications=True)
        if lease is not None:
            _poll_stream(stream, lease, is_stopping)


def _poll_stream(stream: str, lease: Lease, is_stopping: Callable[[], bool]) -> None:
    every_s = settings.DELIVERY_POLL_EVERY_S
    with (
        closing(provider_from_settings()) as provider,
        periodic_task_lease.running(
            lease, again_in_s=every_s, retry_base_s=RETRY_BASE_S, retry_cap_s=every_s
        ),
    ):
        run, can = _PollRun(provider, stream, lease, is_stopping), provider.capabilities()
        try:
            new = run.bounces() if can.lists_bounces else 0
            new += run.suppressions() if can.has_suppression_list else 0
        except QueryFailedError as error:
            raise TaskPostponedError(error.reason, error.retry_after_s) from error
        if new:
            logger.info("polling %s found %d events that no webhook had reported", stream, new)


class _PollRun:
    def __init__(
        self, provider: Provider, stream: str, lease: Lease, is_stopping: Callable[[], bool]
    ) -> None:
        self._provider, self._stream, self._lease = provider, stream, lease
        self._is_stopping = is_stopping
        retention = timedelta(days=provider.capabilities().remembers_days)
        self._since = (lease.last_success_at or lease.started_at - retention) - OVERLAP

    def bounces(self) -> int:
        """Read every bounce and complaint; return how many were new."""
        pages = self._provider.bounces(self._stream, since=self._since, call_s=MAX_CALL_S)
        return sum(self._apply(page) for page in pages)

    def suppressions(self) -> int:
        """Read every new entry of the suppression list; return how many were new.

        The first run reads the whole list.
        """
        self._extend_lease(lease_s=self._provider.deadline_s + LEASE_S)
        chunks = self._provider.suppressions(
            self._stream, since=self._lease.last_success_at, keep_on=self._stop_if_needed
        )
        return sum(self._apply_entries(chunk) for chunk in chunks)

    def _stop_if_needed(self) -> None:
        if self._is_stopping():
            raise TaskInterruptedError

    def _apply_entries(self, entries: Sequence[tuple[AddressSuppressed, bytes]]) -> int:
        bodies = {id(event): body for event, body in entries}
        changed = filter_changed(self._stream, [one for one, _ in entries if one.at is not None])
        return self._apply([bodies[id(event)] for event in changed])

    def _apply(self, events: Sequence[bytes]) -> int:
        stored = event_inbox.store_all(events) if events else []
        for event in stored:
            self._extend_lease()
            event_inbox.apply(event)
        self._extend_lease()
        return len(stored)

    def _extend_lease(self, *, lease_s: float = LEASE_S) -> None:
        """Extend the lease, or raise `TaskInterruptedError` to stop this run.

        The events that were stored before the stop are kept, and workers apply them.
        """
        if self._is_stopping() or not periodic_task_lease.extend_lease(
            self._lease, lease_s=lease_s
        ):
            raise TaskInterruptedError


def _work(is_stopping: Callable[[], bool]) -> bool:
    _is_busy.set()
    try:
        for task in (
            send_suppression_changes.push_suppression_changes,
            lift_for_mail.resend_lifted,
            poll,
        ):
            if not is_stopping():
                task(is_stopping)
    finally:
        _is_busy.clear()
    return False


# The tasks count as due while this worker runs one of them, so a drain waits until this task has
# ended.
PROVIDER_TASKS = BackgroundTask(
    "provider tasks", _work, every_s=TASKS_EVERY_S, is_busy=_is_busy.is_set
)

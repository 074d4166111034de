"""Poll the provider's bounces and suppression lists, because webhooks get lost.

The thread that polls also sends the provider the changes of its suppression lists.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO

from django.conf import settings

from delivery.feedback import event_inbox, lift_for_mail, send_suppression_changes
from delivery.feedback.latest_suppression_entries import filter_changed
from delivery.postmark.classify_responses import BOUNCE_LIST, BOUNCES, SUPPRESSION_LIST
from delivery.postmark.client import MAX_SEARCH_RESULTS, PAGE_SIZE, Postmark, now_s
from delivery.postmark.parse_events import AddressSuppressed, UnreadableDumpError, iter_suppressions
from delivery.postmark.search_windows import Window, to_eastern
from delivery.retry_policy_and_client import postmark_from_settings
from delivery.rules.call_results import SearchFailed
from delivery.rules.reason import Reason, ReasonCode
from delivery.tasks import periodic_task_lease
from delivery.tasks.periodic_task_lease import Lease, TaskInterruptedError, TaskPostponedError
from delivery.tasks.register_background_task import BackgroundTask

logger = logging.getLogger(__name__)

# The deadline of a call, except for a suppression list, which may be long.
MAX_CALL_S = 30.0
IN_MEMORY_BYTES = 1024 * 1024
# A lease is longer than a call plus the time to apply the call's events.
LEASE_S = 180.0
# Each poll overlaps the previous poll by this time, because Postmark lists some entries late and
# clocks differ.
OVERLAP = timedelta(hours=2)
RETRY_BASE_S = 60.0
TASKS_EVERY_S = 5.0
_is_busy = threading.Event()


def polling_tasks_by_stream() -> dict[str, str]:
    """Return the name of the polling task for each stream in use."""
    streams = (settings.POSTMARK_BROADCAST_STREAM, settings.POSTMARK_TRANSACTIONAL_STREAM)
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
        closing(postmark_from_settings()) as postmark,
        periodic_task_lease.running(
            lease, again_in_s=every_s, retry_base_s=RETRY_BASE_S, retry_cap_s=every_s
        ),
    ):
        run = _PollRun(postmark, stream, lease, is_stopping)
        new = run.bounces() + run.suppressions()
        if new:
            logger.info("polling %s found %d events that no webhook had reported", stream, new)


class _PollRun:
    def __init__(
        self, postmark: Postmark, stream: str, lease: Lease, is_stopping: Callable[[], bool]
    ) -> None:
        self._postmark, self._stream, self._lease = postmark, stream, lease
        self._is_stopping = is_stopping
        retention = timedelta(days=settings.POSTMARK_RETENTION_DAYS)
        self._since = (lease.last_success_at or lease.started_at - retention) - OVERLAP

    def bounces(self) -> int:
        """Read every bounce and complaint; return how many were new."""
        new = 0
        until: datetime | None = None
        oldest_at: datetime | None = None
        while True:
            window = Window(to_eastern(self._since), to_eastern(until) if until else None)
            for offset in range(0, MAX_SEARCH_RESULTS, PAGE_SIZE):
                page = self._postmark.page(
                    BOUNCE_LIST,
                    window.query(),
                    stream=self._stream,
                    offset=offset,
                    deadline_at_s=now_s() + min(MAX_CALL_S, self._postmark.deadline_s),
                )
                if isinstance(page, SearchFailed):
                    raise TaskPostponedError(page.reason, page.retry_after_s)
                new += self._apply(page.events)
                oldest_at = page.oldest_at
                if not page.events or offset + PAGE_SIZE >= page.total:
                    return new
            # One search shows a limited number of results. All further results are older than the
            # last result shown, so the next search covers the time up to that result.
            earlier = oldest_at + timedelta(seconds=1) if oldest_at is not None else None
            if earlier is None or (until is not None and to_eastern(earlier) >= to_eastern(until)):
                raise TaskPostponedError(Reason.of(ReasonCode.QUERY_INCOMPLETE, subject=BOUNCES))
            until = earlier

    def suppressions(self) -> int:
        """Read every entry of the suppression list; return how many were new."""
        # The first run reads the whole list. Later runs begin a day earlier than necessary, because
        # Postmark reads the date in its own zone.
        since = self._lease.last_success_at
        filters = {"fromdate": f"{to_eastern(since - timedelta(days=2)):%Y-%m-%d}"} if since else {}
        new = 0
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as dump:
            self._download(filters, dump)
            dump.seek(0)
            entries = iter_suppressions(dump, self._stream)
            try:
                while chunk := list(islice(entries, PAGE_SIZE)):
                    new += self._apply_entries(chunk)
            except UnreadableDumpError:
                raise TaskPostponedError(
                    Reason.of(ReasonCode.QUERY_UNREADABLE, subject=SUPPRESSION_LIST)
                ) from None
        return new

    def _download(self, filters: Mapping[str, str], dump: IO[bytes]) -> None:
        deadline_s = self._postmark.deadline_s
        self._extend_lease(lease_s=deadline_s + LEASE_S)

        def write(chunk: bytes) -> None:
            if self._is_stopping():
                raise TaskInterruptedError
            try:
                dump.write(chunk)
            except OSError as error:
                raise TaskPostponedError(
                    Reason.of(ReasonCode.NO_ROOM_FOR_LIST, error=str(error.strerror))
                ) from error

        refused = self._postmark.suppressions(
            self._stream, filters=filters, write=write, deadline_at_s=now_s() + deadline_s
        )
        if refused is not None:
            raise TaskPostponedError(refused.reason, refused.retry_after_s)

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

"""
Asks the provider for its bounces and suppression lists, because webhooks get lost.

What it finds is kept and applied like what a webhook tells, so that it makes no difference by
which way something came. One worker at a time, stream by stream.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import IO

from django.conf import settings

from delivery.configuration import postmark_from_settings
from delivery.feedback import event_inbox
from delivery.feedback.polled_streams import polling_tasks_by_stream
from delivery.feedback.provider_suppressions import filter_changed
from delivery.postmark.client import MAX_SEARCH_RESULTS, PAGE_SIZE, Postmark, now_s
from delivery.postmark.provider_events import Suppressed
from delivery.postmark.search_windows import Window, to_eastern
from delivery.postmark.suppression_dump import UnreadableDumpError, iter_suppressions
from delivery.rules import retries
from delivery.rules.call_results import NoInformation
from delivery.tasks import periodic_tasks
from delivery.tasks.periodic_tasks import Lease

logger = logging.getLogger(__name__)

# One call but that for a list, which has all the time that a call may take. A worker that stops
# waits no longer than that for either.
LONGEST_CALL_S = 30.0
# A list that is longer is put into a file.
IN_MEMORY_BYTES = 1024 * 1024
# Longer than a call and what is then written down.
LEASE_S = 180.0
# Asked for again each time: what Postmark put on its lists late, and its clock beside ours.
OVERLAP = timedelta(hours=2)
# After a failure: so long, then twice, and so on.
AGAIN_AFTER_S = 60.0


class _UnavailableError(Exception):
    """The provider did not say; `again_in_s` if it said when to come back."""

    def __init__(self, said: NoInformation) -> None:
        super().__init__(said.reason)
        self.reason = said.reason
        self.again_in_s = said.retry_after_s


class _InterruptedError(Exception):
    """The worker is to stop, or has lost its lease."""


def poll(is_stopping: Callable[[], bool]) -> None:
    """Ask for what is due, of every stream. An errand of every worker."""
    for stream, name in polling_tasks_by_stream().items():
        periodic_tasks.ensure_exists(name)
        mine = periodic_tasks.acquire(name, uuid.uuid4(), lease_s=LEASE_S, after_publications=True)
        if mine is not None:
            _poll_stream(stream, mine, is_stopping)


def _poll_stream(stream: str, mine: Lease, is_stopping: Callable[[], bool]) -> None:
    postmark = postmark_from_settings()
    walk = _Walk(postmark, stream, mine, is_stopping)
    try:
        new = walk.bounces() + walk.suppressions()
    except _UnavailableError as error:
        wait_s = max(error.again_in_s or 0.0, _pause_s(mine.failures))
        logger.warning(
            "stream %s could not be asked for bounces and suppressions: %s Asked again in %d s",
            stream,
            error.reason,
            wait_s,
        )
        periodic_tasks.fail(mine, error.reason, again_in_s=wait_s)
    except _InterruptedError:
        periodic_tasks.release(mine)
    except BaseException:
        periodic_tasks.fail(
            mine, "It broke off; the log says why.", again_in_s=_pause_s(mine.failures)
        )
        raise
    else:
        periodic_tasks.finish(mine, again_in_s=settings.DELIVERY_POLL_EVERY_S)
        if new:
            logger.info("stream %s told %d things that no webhook had told", stream, new)
    finally:
        postmark.close()


def _pause_s(failures: int) -> float:
    policy = retries.Policy(AGAIN_AFTER_S, settings.DELIVERY_POLL_EVERY_S, 1, (0.0,), True)
    return max(AGAIN_AFTER_S / 2, retries.delay_after(failures + 1, 1.0, policy))


class _Walk:
    """One walk over the lists of a stream, from a little before the last one on."""

    def __init__(
        self, postmark: Postmark, stream: str, mine: Lease, is_stopping: Callable[[], bool]
    ) -> None:
        self._postmark, self._stream, self._mine = postmark, stream, mine
        self._is_stopping = is_stopping
        memory = timedelta(days=settings.POSTMARK_RETENTION_DAYS)
        self._since = (mine.through_at or mine.started_at - memory) - OVERLAP

    def bounces(self) -> int:
        """Every bounce and complaint; how many were new."""
        new = 0
        until: datetime | None = None
        while True:
            offset, oldest_at, total = 0, None, 1
            while offset < min(total, MAX_SEARCH_RESULTS):
                window = Window(to_eastern(self._since), to_eastern(until) if until else None)
                page = self._postmark.bounces(
                    self._stream,
                    offset=offset,
                    filters=window.query(),
                    deadline_at_s=self._deadline_at_s(),
                )
                if isinstance(page, NoInformation):
                    raise _UnavailableError(page)
                new += self._take_in(page.events)
                if not page.events:
                    return new
                oldest_at, total = page.oldest_at, page.total
                offset += PAGE_SIZE
            if total <= MAX_SEARCH_RESULTS:
                return new
            # A search shows no more than this; the rest is older than the last that it showed.
            earlier = oldest_at + timedelta(seconds=1) if oldest_at is not None else None
            if earlier is None or (until is not None and to_eastern(earlier) >= to_eastern(until)):
                raise _UnavailableError(
                    NoInformation("Postmark lists more bounces of one second than it shows.")
                )
            until = earlier

    def suppressions(self) -> int:
        """Every entry of the suppression list; how many said something new."""
        # The first time all of it. Postmark reads the date in its own zone: a day more is no harm.
        since = self._mine.through_at
        filters = {"fromdate": f"{to_eastern(since - timedelta(days=2)):%Y-%m-%d}"} if since else {}
        new = 0
        # A first one may be some hundred megabytes. The file has no name and goes with us.
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as dump:
            self._write_list(filters, dump)
            dump.seek(0)
            entries = iter_suppressions(dump, self._stream)
            try:
                while piece := list(islice(entries, PAGE_SIZE)):
                    new += self._take_in_entries(piece)
            except UnreadableDumpError:
                raise _UnavailableError(
                    NoInformation("Postmark's suppression list could not be read.")
                ) from None
        return new

    def _write_list(self, filters: Mapping[str, str], dump: IO[bytes]) -> None:
        deadline_s = self._postmark.deadline_s
        self._go_on(lease_s=deadline_s + LEASE_S)

        def write(piece: bytes) -> None:
            if self._is_stopping():
                raise _InterruptedError
            try:
                dump.write(piece)
            except OSError as error:
                raise _UnavailableError(
                    NoInformation(
                        "The suppression list could not be put into the folder for temporary "
                        f"files: {error.strerror}."
                    )
                ) from error

        refused = self._postmark.suppressions(
            self._stream, filters=filters, write=write, deadline_at_s=now_s() + deadline_s
        )
        if refused is not None:
            raise _UnavailableError(refused)

    def _take_in_entries(self, entries: Sequence[tuple[Suppressed, bytes]]) -> int:
        bodies = {id(fact): body for fact, body in entries}
        unheard = filter_changed(self._stream, [fact for fact, _ in entries if fact.at is not None])
        return self._take_in([bodies[id(fact)] for fact in unheard])

    def _take_in(self, events: Sequence[bytes]) -> int:
        kept = event_inbox.store_all(events) if events else []
        for event in kept:
            self._go_on()
            event_inbox.apply(event)
        self._go_on()
        return len(kept)

    def _go_on(self, *, lease_s: float = LEASE_S) -> None:
        """What is kept and not applied is applied by the chores, whoever interrupts this."""
        if self._is_stopping() or not periodic_tasks.extend_lease(self._mine, lease_s=lease_s):
            raise _InterruptedError

    def _deadline_at_s(self) -> float:
        return now_s() + min(LONGEST_CALL_S, self._postmark.deadline_s)

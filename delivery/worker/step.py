"""One step of a worker: claim a batch, render it, start its attempt, call the provider, settle. The
order is the promise. No transaction is open during the call."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.db import Error

from delivery import log_context
from delivery.configuration import Timing
from delivery.models import Edition
from delivery.monitoring import delivery_metrics
from delivery.monitoring.metrics_storage import metrics_buffer
from delivery.postmark.client import Postmark, now_s
from delivery.queue.claim import Claim, claim, claim_lookup, release
from delivery.queue.send_rate import slow_down
from delivery.queue.settle import attempt_result, settle_call
from delivery.queue.start import start
from delivery.rules import retry_or_settle
from delivery.rules.call_results import Answered, CallDeferred, CallResult, NotSent, was_too_fast
from delivery.rules.reason import Reason, ReasonCode
from delivery.unknown.lookup import look_up
from delivery.worker.call_slots import CallSlots, Slot
from delivery.worker.phases import Phase, Phases
from delivery.worker.renderers import Renderers
from delivery.worker.retry_write import is_transient, retry_write

logger = logging.getLogger(__name__)


class Dispatcher:
    """Does one worker's steps, one instance for each thread."""

    def __init__(
        self,
        worker: uuid.UUID,
        postmark: Postmark,
        *,
        timing: Timing,
        policy: retry_or_settle.Policy,
        jitter: Callable[[], float],
        lookup_lock: threading.Lock | None = None,
        slots: CallSlots | None = None,
    ) -> None:
        """`jitter` gives numbers from 0 to 1. All threads share `lookup_lock` and `slots`."""
        self._worker = worker
        self._postmark = postmark
        self._timing = timing
        self._policy = policy
        self._jitter = jitter
        self._lookup_lock = lookup_lock or threading.Lock()
        self._slots = slots or CallSlots(1)
        self._looks_up_first = True
        self._renderers = Renderers()

    def step(self, is_stopping: Callable[[], bool] = lambda: False) -> bool:
        """Do one look-up or one call. Return False if nothing was due. Look-ups and calls take
        turns, and one thread of a worker looks up at a time: a search that hangs must not delay
        mail, and a long edition must not delay look-ups."""
        self._looks_up_first = not self._looks_up_first
        if self._looks_up_first:
            return self._look_up() or self._send_next(is_stopping)
        return self._send_next(is_stopping) or self._look_up()

    def _look_up(self) -> bool:
        if not self._lookup_lock.acquire(blocking=False):
            return False
        try:
            lease_s = self._timing.deadline_s + self._timing.lease_s
            claimed = claim_lookup(self._worker, lease_s=lease_s)
            if claimed is None:
                return False
            bind_claim(claimed, claimed.attempt)
            look_up(claimed, self._postmark, self._policy, jitter=self._jitter())
            return True
        finally:
            self._lookup_lock.release()

    def _send_next(self, is_stopping: Callable[[], bool]) -> bool:
        phases = Phases()
        slot = self._slots.admit_claim(is_stopping)
        phases.end(Phase.WAIT)
        if slot is None:
            return not is_stopping()
        with slot:
            timing = self._timing
            claimed = claim(self._worker, lease_s=timing.lease_s, rate_per_s=timing.rate_per_s)
            if claimed is None:
                return False
            phases.end(Phase.CLAIM)
            self.send(claimed, slot, is_stopping)
            return True

    def send(
        self,
        claimed: Claim,
        slot: Slot | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Render a claimed batch, wait for a call slot, start, call and settle."""
        attempt = uuid.uuid4()
        bind_claim(claimed, attempt)
        lease_until_s = now_s() + self._timing.lease_s
        phases = Phases()
        # The slot is released before settling, so that another call may begin meanwhile.
        with (
            slot or Slot(self._slots) as slot,
            self._put_back_on_trouble(claimed, attempt, lease_until_s, is_stopping),
        ):
            messages = self._renderers.render(claimed, attempt)
            phases.end(Phase.RENDER)
            # Half of the lease is left for the start of the call.
            until_s = lease_until_s - self._timing.lease_s / 2
            may_call = slot.acquire(until_s=until_s, is_stopping=is_stopping)
            phases.end(Phase.WAIT)
            if not may_call:
                release(claimed)
                logger.info("batch %d is released: no call slot is free for it", claimed.batch)
                return
            # Read before the statement that records the deadline: ours is never the later one.
            deadline_at_s = now_s() + self._timing.deadline_s
            recipients = start(
                claimed,
                attempt,
                self._worker,
                deadline_s=self._timing.deadline_s,
                lease_s=self._timing.lease_s,
            )
            phases.end(Phase.START)
            if not recipients:
                return
            body, addresses = _take_body(messages, recipients)
            phases.end(Phase.SERIALISE)
            began_s = now_s()
            result = self._postmark.send(body, addresses, deadline_at_s=deadline_at_s)
            took_s = now_s() - began_s
            self._slots.record_call(took_s)
            delivery_metrics.observe_call(attempt_result(result).value, took_s)
            phases.end(Phase.CALL)
        until_s = deadline_at_s + self._timing.lease_s
        self._settle(claimed, attempt, recipients, result, until_s, is_stopping)
        phases.end(Phase.SETTLE)

    def _settle(
        self,
        claimed: Claim,
        attempt: uuid.UUID,
        recipients: Sequence[int],
        result: CallResult,
        until_s: float,
        is_stopping: Callable[[], bool],
    ) -> None:
        settlement = retry_or_settle.after_call(
            result, recipients, claimed.history, jitter=self._jitter(), policy=self._policy
        )
        if claimed.kind == Edition.Kind.TEST:
            settlement = retry_or_settle.fail_instead_of_waiting(settlement, recipients)
        retry_write(
            lambda: settle_call(claimed, attempt, settlement, attempt_result(result)),
            what=f"the answer to attempt {attempt.hex}",
            until_s=until_s,
            is_stopping=is_stopping,
            jitter=self._jitter,
        )
        logger.log(
            logging.INFO if isinstance(result, Answered) else logging.WARNING,
            "attempt %s of batch %d: %d deliveries, %s",
            attempt.hex,
            claimed.batch,
            len(recipients),
            settlement.reason or settlement.next.value,
        )
        if was_too_fast(result):
            metrics_buffer.add(delivery_metrics.RATE_LIMITED)
            slow_down(
                attempt,
                ceiling_per_s=self._timing.rate_per_s,
                retry_after_s=result.retry_after_s if isinstance(result, CallDeferred) else None,
            )

    @contextmanager
    def _put_back_on_trouble(
        self, claimed: Claim, attempt: uuid.UUID, until_s: float, is_stopping: Callable[[], bool]
    ) -> Iterator[None]:
        """Give the batch back if the database fails before its call."""
        try:
            yield
        except Error as error:
            # An error about the batch's data counts against the batch, by its lease.
            if is_transient(error):
                retry_write(
                    lambda: self._put_back(claimed, attempt),
                    what=f"that batch {claimed.batch} was not sent",
                    until_s=until_s,
                    is_stopping=is_stopping,
                    jitter=self._jitter,
                )
            raise

    def _put_back(self, claimed: Claim, attempt: uuid.UUID) -> None:
        """Give back a batch of which surely nothing has left, whether or not its attempt is
        recorded. It must not look as if it had crashed its worker."""
        if release(claimed):
            return
        unsent = NotSent(Reason.of(ReasonCode.DATABASE_AWAY))
        settlement = retry_or_settle.after_call(
            unsent, (), claimed.history, jitter=self._jitter(), policy=self._policy
        )
        settle_call(claimed, attempt, settlement, attempt_result(unsent))


def _take_body(
    messages: dict[int, tuple[str, bytes]], recipients: Sequence[int]
) -> tuple[bytes, list[str]]:
    """Take these recipients' messages out of `messages`: one JSON array, and their addresses.
    `messages` is emptied and the array is joined in one go, because it may be 20 MB."""
    pieces = [b","] * (2 * len(recipients) + 1)
    pieces[0], pieces[-1] = b"[", b"]"
    pieces[1::2] = [messages[recipient][1] for recipient in recipients]
    body = b"".join(pieces)
    addresses = [messages[recipient][0] for recipient in recipients]
    messages.clear()
    return body, addresses


def bind_claim(claimed: Claim, attempt: uuid.UUID | None) -> None:
    """Put the ids of the claimed batch on every log line from here on."""
    log_context.bind(
        issue=claimed.issue, version=claimed.version, batch=claimed.batch, attempt=attempt
    )

"""One step of a worker: claim a batch, render it, start its attempt, call, settle.

The guarantees of delivery depend on this order. No transaction is open during the call.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from django.conf import settings
from django.db import DatabaseError, Error

from delivery import log_context
from delivery.hooks import reader_hooks
from delivery.mail.html_and_text import compose_transactional
from delivery.mail.message_for_reader import Links, Renderer
from delivery.mail.transactional_mail_texts import KIND_BY_ISSUE
from delivery.models import Edition, Newsletter
from delivery.monitoring import delivery_metrics
from delivery.monitoring.database_fault import DatabaseFault, is_transient
from delivery.monitoring.delivery_metrics import Phase, Phases
from delivery.monitoring.metrics_storage import metrics_buffer
from delivery.provider.attempt_id import new_attempt_id
from delivery.provider.deadline_clock import now_s
from delivery.provider.from_settings import provider_class
from delivery.provider.provider_protocol import Provider
from delivery.queue.claim_due_batch import Claim, claim, claim_lookup, release
from delivery.queue.settle_batch import (
    attempt_result,
    settle_call,
    settle_call_and_claim,
    settle_lookup,
)
from delivery.queue.shared_send_rate import slow_down
from delivery.queue.start_call import start
from delivery.rules import after_call_or_lookup
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    NotSent,
    was_too_fast,
)
from delivery.rules.outcomes import Settlement
from delivery.rules.reason import Reason, ReasonCode
from delivery.unknown.look_up_unknown import look_up
from delivery.worker.call_slots import CallSlots, Slot
from delivery.worker.retry_write import retry_write
from delivery.worker.unsent_calls import UnsentCall

logger = logging.getLogger(__name__)

# The two kinds of work that a step reports to `DatabaseFault`. Both kinds of work settle batches.
CALL = "call"
LOOK_UP = "look-up"
# Renderers are kept for at most this many editions.
RENDERERS_KEPT = 8
# While there is mail to send, a thread asks for due look-ups this often.
LOOKUP_EVERY_S = 0.5


class Dispatcher:
    """The steps of one worker, with one instance for each thread."""

    def __init__(
        self,
        worker: uuid.UUID,
        provider: Provider,
        *,
        policy: after_call_or_lookup.Policy,
        jitter: Callable[[], float],
        lookup_lock: threading.Lock | None = None,
        slots: CallSlots | None = None,
        unsent: UnsentCall | None = None,
        fault: DatabaseFault | None = None,
        claims_ahead: bool = False,
    ) -> None:
        """All threads share `lookup_lock`, `slots` and `fault`.

        With `claims_ahead`, a step may also claim the batch for the next step. Call `close` after
        the last step. `jitter` gives numbers from 0 to 1.
        """
        self._worker = worker
        self._provider = provider
        self._policy = policy
        self._jitter = jitter
        self._lookup_lock = lookup_lock or threading.Lock()
        self._slots = slots or CallSlots(1)
        self._unsent = unsent or UnsentCall()
        self._fault = fault or DatabaseFault(now_s)
        self._claims_ahead = claims_ahead
        self._next_claim: Claim | None = None
        self._looks_up_first = True
        self._next_lookup_s = 0.0
        self._renderers: OrderedDict[tuple[int, str | None], Renderer] = (
            OrderedDict()
        )  # Renderers by edition.

    def close(self) -> None:
        """Release the batch that is claimed for the next step."""
        claimed, self._next_claim = self._next_claim, None
        if claimed is not None:
            release(claimed)

    def step(self, is_stopping: Callable[[], bool] = lambda: False) -> bool:
        """Do one look-up or one call. Return False if nothing was due.

        Look-ups and calls alternate. Only one thread of a worker makes a look-up at a time. So a
        search that hangs does not delay mail, and a long edition does not delay look-ups.
        """
        if self._next_claim is not None:
            return self._send_next(is_stopping)
        self._looks_up_first = not self._looks_up_first
        if self._looks_up_first and now_s() >= self._next_lookup_s:
            return self._look_up(is_stopping) or self._send_next(is_stopping)
        return self._send_next(is_stopping) or self._look_up(is_stopping)

    def _look_up(self, is_stopping: Callable[[], bool]) -> bool:
        if not self._lookup_lock.acquire(blocking=False):
            return False
        try:
            lease_s = settings.DELIVERY_HTTP_DEADLINE_S + settings.DELIVERY_LEASE_S
            claimed = claim_lookup(self._worker, lease_s=lease_s)
            if claimed is None:
                # While there is mail to send, a look-up can wait this long.
                self._next_lookup_s = now_s() + LOOKUP_EVERY_S
                return False
            bind_claim(claimed, claimed.attempt)
            until_s = now_s() + lease_s

            def settle(claimed: Claim, settlement: Settlement) -> bool:
                return retry_write(
                    lambda: settle_lookup(claimed, settlement),
                    what=f"the look-up of batch {claimed.batch}",
                    work=LOOK_UP,
                    fault=self._fault,
                    until_s=until_s,
                    is_stopping=is_stopping,
                    jitter=self._jitter,
                )

            look_up(
                claimed,
                self._provider,
                self._policy,
                jitter=self._jitter(),
                settle=settle,
                # A claim for a look-up does not know whether the newsletter's settings changed.
                render=lambda rows, attempt: renderer_of(
                    Edition.objects.get(pk=claimed.edition)
                ).body(rows, attempt),
            )
            return True
        finally:
            self._lookup_lock.release()

    def _send_next(self, is_stopping: Callable[[], bool]) -> bool:
        phases = Phases()
        slot = self._slots.admit_claim(is_stopping)
        phases.end(Phase.WAIT)
        if slot is None:
            self.close()
            return not is_stopping()
        with slot:
            claimed, self._next_claim = self._next_claim, None
            claimed = claimed or claim(
                self._worker,
                lease_s=settings.DELIVERY_LEASE_S,
                rate_per_s=settings.DELIVERY_RATE_PER_S,
            )
            if claimed is None:
                return False
            phases.end(Phase.CLAIM)
            self.send(claimed, slot, is_stopping)
            return True

    def _may_claim_ahead(self, is_stopping: Callable[[], bool]) -> bool:
        """Whether the next step would send at once, because no look-up comes first."""
        return (
            self._claims_ahead
            and not is_stopping()
            and self._slots.is_quick
            and settings.DELIVERY_RATE_PER_S is None
            and now_s() < self._next_lookup_s
        )

    def send(
        self,
        claimed: Claim,
        slot: Slot | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Render a claimed batch, wait for a call slot, start, call and settle."""
        attempt = new_attempt_id()
        bind_claim(claimed, attempt)
        lease_until_s = now_s() + settings.DELIVERY_LEASE_S
        phases = Phases()
        # The slot is released before settling, so that another call can start meanwhile.
        with (
            slot or Slot(self._slots) as slot,
            self._put_back_on_trouble(claimed, attempt, lease_until_s, is_stopping),
        ):
            renderer, rows = self._renderer(claimed), claimed.deliveries
            body = renderer.body(rows, attempt)
            phases.end(Phase.RENDER)
            # Wait for the slot during half of the lease, so that the other half remains to start
            # the call.
            until_s = lease_until_s - settings.DELIVERY_LEASE_S / 2
            may_call = slot.acquire(until_s=until_s, is_stopping=is_stopping)
            phases.end(Phase.WAIT)
            if not may_call:
                release(claimed)
                logger.info("batch %d is released because no call slot is free", claimed.batch)
                return
            # The clock is read before the deadline is recorded, so that the call never ends after
            # the recorded deadline.
            deadline_at_s = now_s() + settings.DELIVERY_HTTP_DEADLINE_S
            # List the attempt as unsent before the attempt is committed. A committed attempt that
            # is not in `_unsent` counts as possibly sent.
            self._unsent.add(attempt)
            recipients = start(
                claimed,
                attempt,
                self._worker,
                deadline_s=settings.DELIVERY_HTTP_DEADLINE_S,
                lease_s=settings.DELIVERY_LEASE_S,
            )
            phases.end(Phase.START)
            if not recipients:
                return
            if recipients != [row[0] for row in rows]:
                # In rare cases, some recipients of the batch must not get the mail any more. Render
                # the batch again without these recipients.
                by_id = {row[0]: row for row in rows}
                rows = [by_id[recipient] for recipient in recipients]
                body = renderer.body(rows, attempt)
            began_s = now_s()
            result = self._provider.send(
                body,
                [row[1] for row in rows],
                deadline_at_s=deadline_at_s,
                about_to_complete=self._unsent.remove,
            )
            took_s = now_s() - began_s
            self._slots.record_call(took_s)
            metrics_buffer.add(delivery_metrics.CALLS, result=attempt_result(result).value)
            metrics_buffer.observe(delivery_metrics.CALL_SECONDS, took_s)
            phases.end(Phase.CALL)
        until_s = deadline_at_s + settings.DELIVERY_LEASE_S
        self._settle(claimed, attempt, recipients, result, until_s, is_stopping)
        phases.end(Phase.SETTLE)

    def _renderer(self, claimed: Claim) -> Renderer:
        """Return the renderer of an edition. One renderer serves many batches.

        A new renderer is made when the newsletter's settings change. So an issue that stopped
        because the provider refused its sender continues with the new sender.
        """
        key = (claimed.edition, claimed.settings)
        renderer = self._renderers.pop(key, None)
        renderer = renderer or renderer_of(Edition.objects.get(pk=claimed.edition))
        self._renderers[key] = renderer
        if len(self._renderers) > RENDERERS_KEPT:
            self._renderers.popitem(last=False)
        return renderer

    def _settle(
        self,
        claimed: Claim,
        attempt: uuid.UUID,
        recipients: Sequence[int],
        result: CallResult,
        until_s: float,
        is_stopping: Callable[[], bool],
    ) -> None:
        settlement = after_call_or_lookup.after_call(
            result, recipients, claimed.history, jitter=self._jitter(), policy=self._policy
        )
        if claimed.kind == Edition.Kind.TEST:
            settlement = after_call_or_lookup.fail_instead_of_waiting(settlement, recipients)
        ended = (claimed, attempt, settlement, attempt_result(result))

        def write() -> None:
            if self._may_claim_ahead(is_stopping):
                # If claiming the next batch fails, the answer about this batch must not be lost.
                with suppress(DatabaseError):
                    self._next_claim = settle_call_and_claim(
                        *ended, worker=self._worker, lease_s=settings.DELIVERY_LEASE_S
                    )
                    return
            settle_call(*ended)

        retry_write(
            write,
            what=f"the answer to attempt {attempt.hex}",
            work=CALL,
            fault=self._fault,
            until_s=until_s,
            is_stopping=is_stopping,
            jitter=self._jitter,
        )
        logger.log(
            logging.INFO if isinstance(result, AllAccepted | Answered) else logging.WARNING,
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
                ceiling_per_s=settings.DELIVERY_RATE_PER_S,
                retry_after_s=result.retry_after_s if isinstance(result, Deferred) else None,
            )

    @contextmanager
    def _put_back_on_trouble(
        self, claimed: Claim, attempt: uuid.UUID, until_s: float, is_stopping: Callable[[], bool]
    ) -> Iterator[None]:
        """Put the batch back if the database fails before the batch's call."""
        try:
            yield
        except Error as error:
            # An error about the batch's data counts as a crash of the batch when its lease expires.
            if is_transient(error):
                retry_write(
                    lambda: self._put_back(claimed, attempt),
                    what=f"that batch {claimed.batch} was not sent",
                    # Releasing a batch writes little, so its success does not show that calls can
                    # start.
                    work="release",
                    fault=self._fault,
                    until_s=until_s,
                    is_stopping=is_stopping,
                    jitter=self._jitter,
                )
            raise

    def _put_back(self, claimed: Claim, attempt: uuid.UUID) -> None:
        """Put back a batch without sent copies, with or without an attempt.

        If the batch were not put back, it would count as a batch that crashed its worker.
        """
        if release(claimed):
            return
        unsent = NotSent(Reason.of(ReasonCode.DATABASE_AWAY))
        settlement = after_call_or_lookup.after_call(
            unsent, (), claimed.history, jitter=self._jitter(), policy=self._policy
        )
        settle_call(claimed, attempt, settlement, attempt_result(unsent))


def renderer_of(edition: Edition) -> Renderer:
    """Make the renderer of an edition that is being sent.

    A transactional edition is open for years, so its mail has the newsletter's current look and
    language.
    """
    newsletter, provider = Newsletter.objects.get_current(), provider_class()
    if edition.issue_id in KIND_BY_ISSUE:
        edition.title, mail = compose_transactional(edition.kind, newsletter)
        edition.html_mail, edition.text_mail = mail.html, mail.text
    links = Links(
        reader_hooks.registered().unsubscribe_urls,
        reader_hooks.registered().preferences_urls,
        reader_hooks.registered().mail_link,
        provider.capabilities().unsubscribe_placeholder,
    )
    sender = edition.sender or newsletter.sender
    return Renderer(edition, newsletter, links, sender=sender, shape=provider.shape)


def bind_claim(claimed: Claim, attempt: uuid.UUID | None) -> None:
    """Put the ids of the claimed batch on every following log line."""
    log_context.bind(
        issue=claimed.issue, version=claimed.version, batch=claimed.batch, attempt=attempt
    )

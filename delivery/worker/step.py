"""
One step of a worker: take one batch, make its call, write down what happened.

The order is the promise: claim, render, put the attempt on record, call, settle. No transaction is
open during the call.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import Error

from delivery import log_context
from delivery.configuration import Timing
from delivery.hooks import readers
from delivery.mail.edition_renderer import Links, renderer_for
from delivery.mail.message import Renderer, TransactionalRenderer
from delivery.models import Attempt, Edition, Newsletter
from delivery.monitoring import delivery_metrics
from delivery.postmark.client import Postmark, now_s
from delivery.queue.claim import Claim, claim, claim_lookup, release
from delivery.queue.send_rate import slow_down
from delivery.queue.settle import settle_call
from delivery.queue.start import Started, copies_of, start
from delivery.rules import retries
from delivery.rules.call_results import (
    Answered,
    CallResult,
    CallUnanswered,
    NotSent,
    PutOff,
    was_too_fast,
)
from delivery.unknown.lookup import look_up
from delivery.worker.call_slots import CallSlots, Place
from delivery.worker.phases import Phase, Phases
from delivery.worker.retry_write import is_transient, retry_write

logger = logging.getLogger(__name__)

# Renderers of editions that are going out at the same time; more than these take turns.
RENDERERS_KEPT = 8


@dataclass(frozen=True, slots=True)
class _Called:
    """A call that began: whom it was for, what came of it, and by when it had to be over."""

    started: Started
    answer: CallResult
    deadline_at_s: float


class Dispatcher:
    """Does one worker's steps. One instance per thread; `roll` gives numbers from 0 to 1."""

    def __init__(
        self,
        worker: uuid.UUID,
        postmark: Postmark,
        *,
        timing: Timing,
        policy: retries.Policy,
        roll: Callable[[], float],
        look_ups: threading.Lock | None = None,
        calls: CallSlots | None = None,
    ) -> None:
        """
        `look_ups` is held by whichever of a worker's threads is looking something up; `calls` are
        the places of all its calls.
        """
        self._worker = worker
        self._postmark = postmark
        self._timing = timing
        self._policy = policy
        self._roll = roll
        self._look_ups = look_ups or threading.Lock()
        self._calls = calls or CallSlots(1)
        self._looks_up_first = True
        self._renderers: OrderedDict[int, Renderer] = OrderedDict()

    def step(self, is_stopping: Callable[[], bool] = lambda: False) -> bool:
        """
        Do one thing that is due: a look-up or a call. False if nothing was.

        Where all calls are in the air it waits for one of them to end, and nobody has looked then.

        The two take turns, and one thread of a worker at most looks up: a search that hangs must
        not keep mail from going out, nor a long edition keep doubt from being settled.
        """
        self._looks_up_first = not self._looks_up_first
        if self._looks_up_first:
            return self._look_up() or self._call(is_stopping)
        return self._call(is_stopping) or self._look_up()

    def _look_up(self) -> bool:
        if not self._look_ups.acquire(blocking=False):
            return False
        try:
            lease_s = self._timing.deadline_s + self._timing.lease_s
            doubtful = claim_lookup(self._worker, lease_s=lease_s)
            if doubtful is None:
                return False
            bind_claim(doubtful)
            log_context.bind(attempt=doubtful.attempt)
            look_up(doubtful, self._postmark, self._policy, jitter=self._roll())
            return True
        finally:
            self._look_ups.release()

    def _call(self, is_stopping: Callable[[], bool]) -> bool:
        timing = self._timing
        phases = Phases()
        place = self._calls.turn(is_stopping)
        phases.over(Phase.WAIT)
        if place is None:
            return not is_stopping()
        try:
            claimed = claim(self._worker, lease_s=timing.lease_s, rate_per_s=timing.rate_per_s)
            if claimed is None:
                return False
            phases.over(Phase.CLAIM)
            self.deliver(claimed, is_stopping, place)
            return True
        finally:
            place.free()

    def deliver(
        self,
        claimed: Claim,
        is_stopping: Callable[[], bool] = lambda: False,
        place: Place | None = None,
    ) -> None:
        """Take one claimed batch through its call, which has `place` if it was held already."""
        place = place or Place(self._calls)
        attempt = uuid.uuid4()
        bind_claim(claimed)
        log_context.bind(attempt=attempt)
        timing = self._timing
        claimed_until_s = now_s() + timing.lease_s
        phases = Phases()
        try:
            messages = self._messages(claimed, attempt)
            phases.over(Phase.RENDER)
            # Half of the lease is left for the start of the call.
            until_s = claimed_until_s - timing.lease_s / 2
            has_place = place.comes(until_s=until_s, is_stopping=is_stopping)
            phases.over(Phase.WAIT)
            if not has_place:
                release(claimed)
                logger.info("batch %d goes back into line: no call is free for it", claimed.batch)
                return
            called = self._start_and_send(claimed, attempt, messages, phases)
        except Error as error:
            # What is wrong with the batch itself counts against it, by its lease.
            if is_transient(error):
                retry_write(
                    lambda: self._put_back(claimed, attempt),
                    what=f"that batch {claimed.batch} was not sent",
                    until_s=claimed_until_s,
                    is_stopping=is_stopping,
                    roll=self._roll,
                )
            raise
        finally:
            # Another batch may go while what came of this one is written down.
            place.free()
        if called is None:
            return
        answer, recipients = called.answer, called.started.recipients
        settlement = retries.after_call(
            answer,
            recipients,
            tries=claimed.tries,
            setbacks=claimed.setbacks,
            blocked=claimed.blocked,
            jitter=self._roll(),
            policy=self._policy,
        )
        if called.started.kind == Edition.Kind.TEST:
            settlement = retries.without_a_person(settlement, recipients)
        retry_write(
            lambda: settle_call(claimed, attempt, settlement, result_of(answer)),
            what=f"the answer to attempt {attempt.hex}",
            until_s=called.deadline_at_s + timing.lease_s,
            is_stopping=is_stopping,
            roll=self._roll,
        )
        phases.over(Phase.SETTLE)
        logger.log(
            logging.INFO if isinstance(answer, Answered) else logging.WARNING,
            "attempt %s of batch %d: %d copies, %s",
            attempt.hex,
            claimed.batch,
            len(recipients),
            settlement.reason or settlement.next.value,
        )
        if was_too_fast(answer):
            delivery_metrics.count_rate_limited()
            slow_down(
                attempt,
                ceiling_per_s=timing.rate_per_s,
                retry_after_s=answer.retry_after_s if isinstance(answer, PutOff) else None,
            )

    def _start_and_send(
        self,
        claimed: Claim,
        attempt: uuid.UUID,
        messages: dict[int, tuple[str, bytes]],
        phases: Phases,
    ) -> _Called | None:
        """
        Put the attempt on record, make its call and wait for the answer; None if none began.

        `messages` is emptied: a call may take minutes, and they are as large as its body.
        """
        timing = self._timing
        # Read before the statement that records the deadline: ours is never the later one.
        deadline_at_s = now_s() + timing.deadline_s
        started = start(
            claimed,
            attempt,
            self._worker,
            deadline_s=timing.deadline_s,
            lease_s=timing.lease_s,
        )
        phases.over(Phase.START)
        if not isinstance(started, Started):
            return None
        addresses = [messages[recipient][0] for recipient in started.recipients]
        body = _as_array([messages[recipient][1] for recipient in started.recipients])
        messages.clear()
        phases.over(Phase.SERIALISE)
        began_s = now_s()
        answer = self._postmark.send(body, addresses, deadline_at_s=deadline_at_s)
        took_s = now_s() - began_s
        self._calls.took(took_s)
        delivery_metrics.observe_call(result_of(answer).value, took_s)
        phases.over(Phase.CALL)
        return _Called(started, answer, deadline_at_s)

    def _put_back(self, claimed: Claim, attempt: uuid.UUID) -> None:
        """
        Give back a batch of which surely nothing has left, whether or not its call was on record.

        It must not look as if it had ended its worker. And where the record of the call was
        committed and only the word of it was lost, nobody else could know that no call followed.
        """
        if release(claimed):
            return
        unsent = NotSent("The database was away when the call was about to start.")
        settlement = retries.after_call(
            unsent,
            (),
            tries=claimed.tries,
            setbacks=claimed.setbacks,
            jitter=self._roll(),
            policy=self._policy,
        )
        settle_call(claimed, attempt, settlement, result_of(unsent))

    def _messages(self, claimed: Claim, attempt: uuid.UUID) -> dict[int, tuple[str, bytes]]:
        """Address and JSON of each message of the batch, by recipient."""
        renderer = self._renderer(claimed.edition)
        copies = copies_of(claimed)
        return {
            copy.recipient: (copy.address, message)
            for copy, message in zip(copies, renderer.messages(copies, attempt), strict=True)
        }

    def _renderer(self, edition: int) -> Renderer:
        if edition in self._renderers:
            self._renderers.move_to_end(edition)
            return self._renderers[edition]
        renderer = renderer_of(Edition.objects.get(pk=edition))
        if isinstance(renderer, TransactionalRenderer):
            # Not kept: its edition is open for years, and the newsletter is named as it is now.
            return renderer
        self._renderers[edition] = renderer
        if len(self._renderers) > RENDERERS_KEPT:
            self._renderers.popitem(last=False)
        return renderer


def _as_array(messages: Sequence[bytes]) -> bytes:
    """
    JSON texts as one JSON array.

    Put together in one go. It may be 20 MB, and every copy of it on the way is memory that has to
    be found and cleared: that took longer than all the rest of a step.
    """
    pieces = [b","] * (2 * len(messages) + 1)
    pieces[0], pieces[-1] = b"[", b"]"
    pieces[1::2] = messages
    return b"".join(pieces)


def bind_claim(claimed: Claim) -> None:
    """From here on every line of the log says which batch is in hand, and of which issue."""
    log_context.bind(issue=claimed.issue, version=claimed.version, batch=claimed.batch)


def renderer_of(edition: Edition) -> Renderer:
    """Build the renderer of an edition that is sent."""
    links = Links(
        readers.registered().unsubscribe_urls,
        readers.registered().mail_link,
        handles_unsubscribes=settings.UNSUBSCRIBE_HANDLING == "own",
    )
    return renderer_for(edition, Newsletter.objects.the_one(), links, sender=settings.FROM_EMAIL)


def result_of(answer: CallResult) -> Attempt.Result:
    """How the attempt's record names the end of its call."""
    match answer:
        case Answered():
            return Attempt.Result.ANSWERED
        case CallUnanswered():
            return Attempt.Result.UNKNOWN
        case NotSent():
            return Attempt.Result.NOT_SENT
        case _:
            return Attempt.Result.REFUSED

"""
Work that is done once under its key, and answered the same however often it is asked for.

The order of things is here, and here alone: a saved answer, what has to be right beforehand, the
claim, the work, the answer saved with it. The decorator for forms (`safe_to_retry.py`) and the
calls of programs both go this way; what is shown for each outcome is theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse

from idempotency.captured_messages import ShownMessage, keeping_back_messages
from idempotency.claim import Busy, Fresh, OtherContent, Replay, claim, earlier_post
from idempotency.csrf_use import watching_the_csrf_token
from idempotency.outcome_signal import Ended, tell
from idempotency.response_store import save_answer
from idempotency.saved_response import CannotBeReplayedError, answer_of, is_worth_remembering

logger = logging.getLogger(__name__)

# Whole seconds, as the header wants them. Most work ends sooner; a waiter then gets its answer.
RETRY_AFTER_S = 1


class OtherContentError(Exception):
    """
    Raised by the work: it knows the key from an earlier post with other content.

    For work that outlives its saved answer. Everything is rolled back, and the answer is the same
    as for a saved answer with another fingerprint. `made` is where the earlier work is to be seen,
    as far as it can be.
    """

    def __init__(self, made: str = "") -> None:
        super().__init__(made)
        self.made = made


@dataclass(frozen=True)
class Done:
    """The work was tried in this request: what it answered, and what it says to the author."""

    response: HttpResponse
    messages: tuple[ShownMessage, ...]


@dataclass(frozen=True)
class NotReady:
    """Something has to be put right first; nothing was claimed. What is answered instead."""

    response: HttpResponse


def once(
    request: HttpRequest,
    user_id: UUID,
    key: str,
    fingerprints: Sequence[bytes],
    *,
    not_ready: Callable[[], HttpResponse | None],
    work: Callable[[], HttpResponse],
) -> Done | Replay | NotReady | OtherContent | Busy:
    """
    Do `work` once for this person and key, in the transaction that also saves its answer.

    `not_ready` is asked first, outside any transaction: what it answers is given and nothing is
    claimed, None lets the work begin. What the work answers with 200 to 399 is committed and
    remembered; any other answer, or an exception, rolls everything back and frees the key.

    The first of the fingerprints is remembered; any of them says that an earlier post was the same.
    """
    # First of all, because it needs no seat and no claim. And the same content is answered the
    # same even where it would no longer be valid, such as a date that has passed.
    earlier = earlier_post(user_id, key, fingerprints)
    if isinstance(earlier, Replay):
        return _seen(earlier)
    refusal = not_ready()
    if refusal is not None:
        return NotReady(refusal)
    return _seen(earlier or _claim_and_work(request, user_id, key, fingerprints, work))


def _seen(
    outcome: Done | Replay | OtherContent | Busy,
) -> Done | Replay | OtherContent | Busy:
    match outcome:
        case Done():
            tell(Ended.DONE)
        case Replay():
            logger.info("A form was posted again and got its first answer again.")
            tell(Ended.REPLAY)
        case OtherContent():
            tell(Ended.OTHER_CONTENT)
        case Busy():
            tell(Ended.BUSY)
    return outcome


def _claim_and_work(
    request: HttpRequest,
    user_id: UUID,
    key: str,
    fingerprints: Sequence[bytes],
    work: Callable[[], HttpResponse],
) -> Done | Replay | OtherContent | Busy:
    """Claim the key and, if it is free, do the work and remember its answer: one transaction."""
    try:
        # durable: inside another transaction the others would wait for that one to end.
        with transaction.atomic(durable=True):
            outcome = claim(user_id, key, fingerprints, wait_s=settings.IDEMPOTENCY_WAIT_S)
            if not isinstance(outcome, Fresh):
                return outcome
            done, token_was_used = _do(request, work)
            if not is_worth_remembering(done.response):
                transaction.set_rollback(True)
                return done
            if token_was_used:
                raise CannotBeReplayedError(
                    "The view used the CSRF token in its answer, which is one browser's alone. "
                    "Answer without a form, or with a redirect to the page that holds it."
                )
            save_answer(user_id, key, answer_of(request, done.response, done.messages))
            return done
    except OtherContentError as error:
        return OtherContent(error.made)


def _do(request: HttpRequest, work: Callable[[], HttpResponse]) -> tuple[Done, bool]:
    """Do the work and finish its answer; also say whether the CSRF token was used for it."""
    with keeping_back_messages(request) as kept_back, watching_the_csrf_token(request) as token:
        response: Any = work()
        if not isinstance(response, HttpResponse):
            raise CannotBeReplayedError(
                f"The view answered with {type(response).__name__}, which cannot be saved. "
                "Answer with an HttpResponse that holds its whole body."
            )
        if isinstance(response, SimpleTemplateResponse):
            response.render()  # now, while what it says is certain to be what is committed
        done = Done(response, kept_back.unread(response))
    return done, token.was_used

"""Do work once under its key, and answer every repetition the same."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.messages.storage.base import Message
from django.db import transaction
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse

from idempotency.captured_messages import capture_messages
from idempotency.claim import InProgress, claim
from idempotency.saved_response import (
    CannotBeReplayedError,
    DifferentContent,
    SavedResponse,
    find_earlier,
    save_response,
    to_saved_response,
)

logger = logging.getLogger(__name__)

# Whole seconds, as the header wants them. Most work ends sooner; a waiter then gets its response.
RETRY_AFTER_S = 1

# Django sets this in request.META whenever the CSRF token is read (django.middleware.csrf).
_TOKEN_WAS_READ = "CSRF_COOKIE_NEEDS_UPDATE"  # noqa: S105 -- no password

# Sent with `outcome`, after the work was committed or rolled back.
form_posted = Signal()


class PostOutcome(StrEnum):
    """How a post ended that was ready to be worked on, or known already."""

    DONE = "done"
    REPLAY = "replay"
    OTHER_CONTENT = "other_content"
    BUSY = "busy"


class DifferentContentError(Exception):
    """Raised by work that outlives its response: the key has other content, at `earlier_url`."""

    def __init__(self, earlier_url: str = "") -> None:
        super().__init__(earlier_url)
        self.earlier_url = earlier_url


@dataclass(frozen=True)
class Completed:
    """The work ran in this request: its response, and its messages for the author."""

    response: HttpResponse
    messages: tuple[Message, ...]


Outcome = Completed | SavedResponse | DifferentContent | InProgress
_OUTCOMES = {
    Completed: PostOutcome.DONE,
    SavedResponse: PostOutcome.REPLAY,
    DifferentContent: PostOutcome.OTHER_CONTENT,
    InProgress: PostOutcome.BUSY,
}


def run_once(
    request: HttpRequest,
    user_id: UUID,
    key: str,
    fingerprints: Sequence[bytes],
    *,
    check: Callable[[], HttpResponse | None],
    work: Callable[[], HttpResponse],
) -> Outcome | HttpResponse:
    """Do `work` once for this user and key, in the transaction that also saves its response.
    `check` runs first, outside any transaction. If it returns a response, so does this, and nothing
    is claimed. A
    response of 200 to 399 is committed and saved; any other, or an exception, rolls everything back
    and frees the key. The first fingerprint is saved; any of them identifies an earlier post."""
    # First, because it is the same even if the content is no longer valid, such as a past date.
    outcome: Outcome | None = find_earlier(user_id, key, fingerprints)
    if not isinstance(outcome, SavedResponse) and (refusal := check()) is not None:
        return refusal
    if outcome is None:
        outcome = _claim_and_work(request, user_id, key, fingerprints, work)
    if isinstance(outcome, SavedResponse):
        logger.info("A form was posted again and got its first answer again.")
    # A receiver that fails is logged by Django and changes nothing in the response.
    form_posted.send_robust(sender=PostOutcome, outcome=_OUTCOMES[type(outcome)])
    return outcome


def _claim_and_work(
    request: HttpRequest,
    user_id: UUID,
    key: str,
    fingerprints: Sequence[bytes],
    work: Callable[[], HttpResponse],
) -> Outcome:
    try:
        # durable: inside another transaction the others would wait for that one to end.
        with transaction.atomic(durable=True):
            outcome = claim(user_id, key, fingerprints, wait_s=settings.IDEMPOTENCY_WAIT_S)
            if outcome is not None:
                return outcome
            done, used_csrf_token = _work(request, work)
            if not 200 <= done.response.status_code < 400:
                transaction.set_rollback(True)
                return done
            if used_csrf_token:
                raise CannotBeReplayedError(
                    "The view used the CSRF token in its answer, which is one browser's alone. "
                    "Answer without a form, or with a redirect to the page that holds it."
                )
            save_response(user_id, key, to_saved_response(request, done.response, done.messages))
            return done
    except DifferentContentError as error:
        return DifferentContent(error.earlier_url)


def _work(request: HttpRequest, work: Callable[[], HttpResponse]) -> tuple[Completed, bool]:
    """Do the work and finish its response; also return whether it read the CSRF token."""
    was_read_before = request.META.pop(_TOKEN_WAS_READ, False)
    try:
        with capture_messages(request) as captured:
            response: Any = work()
            if not isinstance(response, HttpResponse):
                raise CannotBeReplayedError(
                    f"The view answered with {type(response).__name__}, which cannot be saved. "
                    "Answer with an HttpResponse that holds its whole body."
                )
            if isinstance(response, SimpleTemplateResponse):
                response.render()  # now, so that it shows exactly what is committed
            done = Completed(response, captured.unread(response))
    finally:
        is_read = bool(request.META.get(_TOKEN_WAS_READ))
        request.META[_TOKEN_WAS_READ] = bool(was_read_before) or is_read
    return done, is_read

"""Do work once under its key, and answer every repetition the same."""

import logging
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.messages import add_message
from django.contrib.messages.storage.base import Message
from django.db import transaction
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse

from idempotency.captured_messages import capture_messages
from idempotency.claim import InProgressError, claim
from idempotency.saved_response import (
    CannotBeReplayedError,
    DifferentContentError,
    SavedResponse,
    find_earlier,
    save_response,
    to_http_response,
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


def run_once(
    request: HttpRequest,
    user_id: UUID,
    key: str,
    fingerprints: Sequence[bytes],
    *,
    check: Callable[[], HttpResponse | None],
    work: Callable[[], HttpResponse],
) -> HttpResponse:
    """Do `work` once for this user and key, in the transaction that also saves its response.
    `check` runs first, outside any transaction. If it returns a response, so does this, and nothing
    is claimed. A response of 200 to 399 is committed and saved; any other, or an exception, rolls
    everything back and frees the key. The first fingerprint is saved; any of them identifies an
    earlier post. Raises InProgressError, and DifferentContentError as `work` does."""
    # First, because it is the same even if the content is no longer valid, such as a past date.
    earlier = find_earlier(user_id, key, fingerprints)
    if not isinstance(earlier, SavedResponse) and (refusal := check()) is not None:
        return refusal
    try:
        if isinstance(earlier, DifferentContentError):
            raise earlier
        saved = earlier
        if saved is None:
            # durable: inside another transaction the others would wait for that one to end.
            with transaction.atomic(durable=True):
                saved = claim(user_id, key, fingerprints, wait_s=settings.IDEMPOTENCY_WAIT_S)
                if saved is None:
                    response, messages = _work(request, user_id, key, work)
    except (DifferentContentError, InProgressError) as error:
        is_busy = isinstance(error, InProgressError)
        _report(PostOutcome.BUSY if is_busy else PostOutcome.OTHER_CONTENT)
        raise
    if saved is not None:
        logger.info("A form was posted again and got its first answer again.")
        response, messages = to_http_response(saved), saved.messages
    _report(PostOutcome.DONE if saved is None else PostOutcome.REPLAY)
    for each in messages:
        add_message(request, each.level, each.message, extra_tags=each.extra_tags or "")
    return response


def _report(outcome: PostOutcome) -> None:
    # A receiver that fails is logged by Django and changes nothing in the response.
    form_posted.send_robust(sender=PostOutcome, outcome=outcome)


def _work(
    request: HttpRequest, user_id: UUID, key: str, work: Callable[[], HttpResponse]
) -> tuple[HttpResponse, tuple[Message, ...]]:
    """Do the work, and save or roll back; return the response and what it has not shown."""
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
            messages = captured.unread(response)
    finally:
        used_csrf_token = bool(request.META.get(_TOKEN_WAS_READ))
        request.META[_TOKEN_WAS_READ] = bool(was_read_before) or used_csrf_token
    if not 200 <= response.status_code < 400:
        transaction.set_rollback(True)
    elif used_csrf_token:
        raise CannotBeReplayedError(
            "The view used the CSRF token in its answer, which is one browser's alone. "
            "Answer without a form, or with a redirect to the page that holds it."
        )
    else:
        save_response(user_id, key, to_saved_response(request, response, messages))
    return response, messages

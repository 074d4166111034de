"""Run work once under its key, and give every repetition the same response."""

import logging
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.contrib.messages import add_message
from django.contrib.messages.storage.base import Message
from django.db import transaction
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse

from idempotency.captured_messages import capture_messages
from idempotency.claim import InProgressError, claim
from idempotency.key import UserId
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

# The value of Retry-After, in whole seconds as that header requires. Most work ends sooner, and a
# retry then gets the saved response.
RETRY_AFTER_S = 1

# How long a repeated post waits for the first post. The setting IDEMPOTENCY_WAIT_S replaces this
# default.
DEFAULT_WAIT_S = 10.0

# Django sets this key of request.META when the CSRF token is read (django.middleware.csrf).
_TOKEN_WAS_READ = "CSRF_COOKIE_NEEDS_UPDATE"  # noqa: S105 -- not a password

# The signal is sent with `outcome`, after the work was committed or rolled back.
form_posted = Signal()


class PostOutcome(StrEnum):
    """How a post with a key ended. A post that `check` refuses has no outcome."""

    DONE = "done"
    REPLAY = "replay"
    OTHER_CONTENT = "other_content"
    BUSY = "busy"


def run_once(
    request: HttpRequest,
    user_id: UserId,
    key: str,
    fingerprints: Sequence[bytes],
    *,
    check: Callable[[], HttpResponse | None],
    work: Callable[[], HttpResponse],
) -> HttpResponse:
    """Run `work` once for this user and key, and save its response.

    `check` runs first, outside any transaction. If `check` returns a response, `run_once` returns
    this response and claims no key. A response of 200 to 399 is committed and saved. Any other
    response or an exception rolls everything back and frees the key. The first of `fingerprints` is
    saved. An earlier post has the same content if its saved fingerprint is one of `fingerprints`.
    Raises InProgressError and DifferentContentError; `work` may also raise DifferentContentError.
    """
    # Look for a saved response before `check` runs. A replay must work even if the content is no
    # longer valid, for example because a date has passed.
    earlier = find_earlier(user_id, key, fingerprints)
    if not isinstance(earlier, SavedResponse) and (refusal := check()) is not None:
        return refusal
    try:
        if isinstance(earlier, DifferentContentError):
            raise earlier
        saved = earlier
        if saved is None:
            # `durable` refuses an outer transaction, because other posts with this key would have
            # to wait until the outer transaction ends.
            with transaction.atomic(durable=True):
                saved = claim(user_id, key, fingerprints, wait_s=_wait_s())
                if saved is None:
                    response, messages = _work(request, user_id, key, work)
    except (DifferentContentError, InProgressError) as error:
        is_busy = isinstance(error, InProgressError)
        _report(PostOutcome.BUSY if is_busy else PostOutcome.OTHER_CONTENT)
        raise
    if saved is not None:
        logger.info("a form was posted again and its first response was replayed")
        response, messages = to_http_response(saved), saved.messages
    _report(PostOutcome.DONE if saved is None else PostOutcome.REPLAY)
    for each in messages:
        add_message(request, each.level, each.message, extra_tags=each.extra_tags or "")
    return response


def _wait_s() -> float:
    return float(getattr(settings, "IDEMPOTENCY_WAIT_S", DEFAULT_WAIT_S))


def _report(outcome: PostOutcome) -> None:
    # If a receiver raises an error, Django logs it, and the response stays the same.
    form_posted.send_robust(sender=PostOutcome, outcome=outcome)


def _work(
    request: HttpRequest, user_id: UserId, key: str, work: Callable[[], HttpResponse]
) -> tuple[HttpResponse, tuple[Message, ...]]:
    """Run the work, and save or roll back.

    Return the response and the messages not shown yet.
    """
    was_read_before = request.META.pop(_TOKEN_WAS_READ, False)
    try:
        with capture_messages(request) as captured:
            response: Any = work()
            if not isinstance(response, HttpResponse):
                raise CannotBeReplayedError(
                    f"The view returned {type(response).__name__}, which cannot be saved. "
                    "Return an HttpResponse with its whole body."
                )
            if isinstance(response, SimpleTemplateResponse):
                # Render inside the transaction, so that the page shows the state that is committed.
                response.render()
            messages = captured.unread(response)
    finally:
        used_csrf_token = bool(request.META.get(_TOKEN_WAS_READ))
        request.META[_TOKEN_WAS_READ] = bool(was_read_before) or used_csrf_token
    if not 200 <= response.status_code < 400:
        transaction.set_rollback(True)
    elif used_csrf_token:
        raise CannotBeReplayedError(
            "The view used the CSRF token, which belongs to one browser, in its response. "
            "Return a page without a form, or a redirect to the page with the form."
        )
    else:
        save_response(user_id, key, to_saved_response(request, response, messages))
    return response, messages

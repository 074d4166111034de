"""
The decorator that makes a view safe to retry, and the only place that joins the parts.

A post is read (key, fingerprint), looked up, validated, claimed, worked on and remembered, in
this order. Each part decides on its own; the order and the pages are here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import SimpleTemplateResponse

from idempotency.answer import CannotBeReplayedError, answer_of, is_worth_remembering, response_from
from idempotency.claim import Busy, Fresh, OtherContent, Replay, claim, earlier_post
from idempotency.csrf_token import watching_the_csrf_token
from idempotency.fingerprint import fingerprint_of
from idempotency.key import FIELD, HEADER, BadKey, key_given
from idempotency.saved_answers import save_answer
from idempotency.shown_messages import ShownMessage, keeping_back_messages, show

logger = logging.getLogger(__name__)

# Whole seconds, as the header wants them. Most work ends sooner; a waiter then gets its answer.
RETRY_AFTER_S = 1

F = TypeVar("F", bound=BaseForm)
P = ParamSpec("P")
Page = Callable[[HttpRequest, F, str], HttpResponse]


class OtherContentError(Exception):
    """
    Raised by the work: it knows the key from an earlier form with other content.

    For work that outlives its saved answer. Everything is rolled back and the author gets the
    same page as for a saved answer with another fingerprint.
    """


@dataclass(frozen=True)
class Done:
    """The work was tried in this request: what it answered, and what it says to the author."""

    response: HttpResponse
    messages: tuple[ShownMessage, ...]


def safe_to_retry(
    *,
    form: Callable[..., F],
    fields: Sequence[str],
    show_form: Page[F],
    other_content: Page[F],
    still_working: Page[F],
    bad_key: Callable[[HttpRequest, str], HttpResponse],
    key_of: Callable[[str, bytes], str] = lambda key, _: key,
) -> Callable[
    [Callable[Concatenate[HttpRequest, F, str, P], HttpResponse]],
    Callable[Concatenate[HttpRequest, P], HttpResponse],
]:
    """
    Make a view safe to retry: the same form posted again does nothing and is answered the same.

    The view is called as `view(request, form, key, …)` with a valid form, inside the transaction
    that also holds the claim and the saved answer. What it answers with 200 to 399 is committed
    and remembered; any other answer, or an exception, rolls everything back and frees the key.

    form           called with request.POST and request.FILES; validated before anything is claimed
    fields         names of the posted fields and files that make two forms the same
    show_form      (request, form, key): the form again, with its errors and the same key (200)
    other_content  (request, form, key): the author's text in a form with a fresh key, and a link
                   to what came of the earlier form (422); `key` is the used one
    still_working  (request, form, key): the posted fields in a form with the same key (409)
    bad_key        (request, reason): the reason, one sentence (400)
    key_of         (key, fingerprint): the key to claim, where a form posts one that stands for
                   something else; it must be as good a key

    The status of each page is set here. Posts only: any other method gets 405. The user must be
    signed in, because keys belong to users.
    """

    def decorate(
        view: Callable[Concatenate[HttpRequest, F, str, P], HttpResponse],
    ) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
        @wraps(view)
        def posted(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            if not request.user.is_authenticated:
                raise PermissionDenied("A form that is safe to retry needs a signed-in user.")
            user_id = request.user.pk
            key = key_given(request.POST.getlist(FIELD), request.headers.get(HEADER))
            if isinstance(key, BadKey):
                return _with_status(400, bad_key(request, key.reason))

            fingerprint = fingerprint_of(request, fields)
            key = key_of(key, fingerprint)
            # First of all, because it needs no seat and no claim. And the same form is answered
            # the same even where it would no longer be valid, such as a date that has passed.
            earlier = earlier_post(user_id, key, fingerprint)
            if isinstance(earlier, Replay):
                return _replay(request, earlier)

            filled = form(request.POST, request.FILES)
            if not filled.is_valid():
                return _with_status(200, show_form(request, filled, key))
            outcome = earlier or _claim_and_work(
                request,
                user_id,
                key,
                fingerprint,
                lambda: view(request, filled, key, *args, **kwargs),
            )
            # Pages are made here, outside the transaction: it may have been rolled back.
            match outcome:
                case Done(response, messages):
                    show(request, messages)
                    return response
                case Replay():
                    return _replay(request, outcome)
                case OtherContent():
                    return _with_status(422, other_content(request, filled, key))
                case Busy():
                    page = _with_status(409, still_working(request, filled, key))
                    page.headers["Retry-After"] = str(RETRY_AFTER_S)
                    return page

        return posted

    return decorate


def _claim_and_work(
    request: HttpRequest,
    user_id: UUID,
    key: str,
    fingerprint: bytes,
    work: Callable[[], HttpResponse],
) -> Done | Replay | OtherContent | Busy:
    """Claim the key and, if it is free, do the work and remember its answer: one transaction."""
    try:
        # durable: inside another transaction the others would wait for that one to end.
        with transaction.atomic(durable=True):
            outcome = claim(user_id, key, fingerprint, wait_s=settings.IDEMPOTENCY_WAIT_S)
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
    except OtherContentError:
        return OtherContent()


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


def _replay(request: HttpRequest, replay: Replay) -> HttpResponse:
    logger.info("A form was posted again and got its first answer again.")
    show(request, replay.answer.messages)
    return response_from(replay.answer)


def _with_status(status: int, page: HttpResponse) -> HttpResponse:
    page.status_code = status
    return page

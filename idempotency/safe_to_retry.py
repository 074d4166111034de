"""
The decorator that makes a view safe to retry: the pages for each outcome of a posted form.

A post is read (key, fingerprint), and what becomes of it is decided by `run_once.py`: looked up,
validated, claimed, worked on and remembered, in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Concatenate, ParamSpec, TypeVar
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from idempotency.captured_messages import show
from idempotency.claim import Busy, OtherContent, Replay, earlier_post
from idempotency.fingerprint import fingerprints_of
from idempotency.key import FIELD, HEADER, BadKey, key_given
from idempotency.run_once import RETRY_AFTER_S, Done, NotReady, OtherContentError, once
from idempotency.saved_response import response_from

__all__ = ["RETRY_AFTER_S", "OtherContentError", "safe_to_retry"]

F = TypeVar("F", bound=BaseForm)
P = ParamSpec("P")
Page = Callable[[HttpRequest, F, str], HttpResponse]


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
                   something else; it must be as good a key. Called with each fingerprint that
                   may have been written

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

            fingerprints = fingerprints_of(request, fields)
            key = _key_of_this_form(
                user_id, [key_of(key, each) for each in fingerprints], fingerprints
            )
            # Made when it is first looked at: a replay needs none.
            filled = cache(lambda: form(request.POST, request.FILES))

            def not_ready() -> HttpResponse | None:
                if filled().is_valid():
                    return None
                return _with_status(200, show_form(request, filled(), key))

            outcome = once(
                request,
                user_id,
                key,
                fingerprints,
                not_ready=not_ready,
                work=lambda: view(request, filled(), key, *args, **kwargs),
            )
            # Pages are made here, outside the transaction: it may have been rolled back.
            match outcome:
                case Done(response, messages):
                    show(request, messages)
                    return response
                case Replay():
                    return _replay(request, outcome)
                case NotReady(page):
                    return page
                case OtherContent():
                    return _with_status(422, other_content(request, filled(), key))
                case Busy():
                    busy = _with_status(409, still_working(request, filled(), key))
                    busy.headers["Retry-After"] = str(RETRY_AFTER_S)
                    return busy

        return posted

    return decorate


def _key_of_this_form(user_id: UUID, keys: Sequence[str], fingerprints: Sequence[bytes]) -> str:
    """The first of the keys, unless this very form was answered under another of them."""
    different = list(dict.fromkeys(keys))
    if len(different) > 1:
        for key in different:
            if isinstance(earlier_post(user_id, key, fingerprints), Replay):
                return key
    return different[0]


def _replay(request: HttpRequest, replay: Replay) -> HttpResponse:
    show(request, replay.answer.messages)
    return response_from(replay.answer)


def _with_status(status: int, page: HttpResponse) -> HttpResponse:
    page.status_code = status
    return page

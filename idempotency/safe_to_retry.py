"""The decorator that makes a view safe to retry, with a page for each outcome."""

from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.utils.translation import gettext

from idempotency.claim import InProgressError
from idempotency.fingerprint import form_hash, keyed_fingerprints
from idempotency.key import FIELD, HEADER, InvalidKey, UserId, read_key
from idempotency.run_once import RETRY_AFTER_S, run_once
from idempotency.saved_response import DifferentContentError, SavedResponse, find_earlier

__all__ = ["RETRY_AFTER_S", "DifferentContentError", "safe_to_retry"]

F = TypeVar("F", bound=BaseForm)
P = ParamSpec("P")
Page = Callable[[HttpRequest, F, str], HttpResponse]


def safe_to_retry(
    *,
    form: Callable[..., F],
    fields: Sequence[str],
    show_form: Page[F],
    different_content: Page[F],
    in_progress: Page[F],
    invalid_key: Callable[[HttpRequest, str], HttpResponse],
    key_of: Callable[[str, bytes], str] = lambda key, _: key,
) -> Callable[
    [Callable[Concatenate[HttpRequest, F, str, P], HttpResponse]],
    Callable[Concatenate[HttpRequest, P], HttpResponse],
]:
    """Make a view safe to retry.

    If the same form is posted again, no work is done, and the author gets the same response. The
    view is called as `view(request, form, key, …)` with a valid form. The same transaction holds
    the claim and the saved response. A response of 200 to 399 is committed and saved. Any other
    response or an exception rolls everything back and frees the key.

    form               called with request.POST and request.FILES; validated before the claim
    fields             names of the posted fields and files that are compared
    show_form          (request, form, key): the form with its errors and the same key (200)
    different_content  (request, form, key): the author's text in a form with a new key, and a
                       link to the result of the earlier form (422); `key` is the used one
    in_progress        (request, form, key): the posted fields in a form with the same key (409)
    invalid_key        (request, reason): the reason (400)
    key_of             (key, fingerprint): the key to claim, if it is not the posted one. Called
                       with each fingerprint that may have been saved

    The status of each page is set here. Any method except POST gets 405. The user must be signed
    in, because keys belong to users.
    """

    def decorate(
        view: Callable[Concatenate[HttpRequest, F, str, P], HttpResponse],
    ) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
        @wraps(view)
        def posted(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            if not request.user.is_authenticated:
                raise PermissionDenied(gettext("Sign in to send this form."))
            key = read_key(request.POST.getlist(FIELD), request.headers.get(HEADER))
            if isinstance(key, InvalidKey):
                return _with_status(400, invalid_key(request, key.reason))

            fingerprints = keyed_fingerprints(form_hash(request, fields))
            key = _choose_key(
                request.user.pk, [key_of(key, each) for each in fingerprints], fingerprints
            )
            # Create the form only when it is first used, because a replay needs no form.
            filled = cache(lambda: form(request.POST, request.FILES))

            def check() -> HttpResponse | None:
                if filled().is_valid():
                    return None
                return _with_status(200, show_form(request, filled(), key))

            # Render error pages outside the transaction, because the transaction may have been
            # rolled back.
            try:
                return run_once(
                    request,
                    request.user.pk,
                    key,
                    fingerprints,
                    check=check,
                    work=lambda: view(request, filled(), key, *args, **kwargs),
                )
            except DifferentContentError:
                return _with_status(422, different_content(request, filled(), key))
            except InProgressError:
                page = _with_status(409, in_progress(request, filled(), key))
                page.headers["Retry-After"] = str(RETRY_AFTER_S)
                return page

        return posted

    return decorate


def _choose_key(user_id: UserId, keys: Sequence[str], fingerprints: Sequence[bytes]) -> str:
    """Return the first key, unless this form was already answered under another key."""
    different = list(dict.fromkeys(keys))
    if len(different) > 1:
        for key in different:
            if isinstance(find_earlier(user_id, key, fingerprints), SavedResponse):
                return key
    return different[0]


def _with_status(status: int, page: HttpResponse) -> HttpResponse:
    page.status_code = status
    return page

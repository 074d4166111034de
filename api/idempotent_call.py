"""
A call that changes something: done once under its `Idempotency-Key`, by the rules for forms.

The work, its order and the saved answer are in `idempotency/run_once.py`. Here is only what the
caller is told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel

from api.bearer import caller_of
from api.call_fingerprint import fingerprints_of_call
from api.problem import Kind, ProblemError
from idempotency.claim import Busy, OtherContent, Replay
from idempotency.fingerprint import UploadedContent
from idempotency.key import HEADER, KEY_PATTERN, LONGEST_KEY, BadKey, key_given
from idempotency.run_once import RETRY_AFTER_S, Done, NotReady, OtherContentError, once
from idempotency.saved_response import response_from

__all__ = ["KEY_PARAMETER", "OtherContentError", "change", "key_of"]

# The header of every such call, for the document of the API.
KEY_PARAMETER: dict[str, Any] = {
    "parameters": [
        {
            "in": "header",
            "name": HEADER,
            "required": True,
            "schema": {
                "type": "string",
                "pattern": KEY_PATTERN,
                "minLength": 1,
                "maxLength": LONGEST_KEY,
            },
            "description": (
                "A key of your own for this one call, such as a UUID. The same call again with it "
                "is answered the same and does nothing."
            ),
        }
    ]
}


def change(
    request: HttpRequest,
    body: BaseModel | None,
    work: Callable[[str], HttpResponse],
    *,
    files: Sequence[UploadedContent] = (),
    ready: Callable[[str], None] = lambda _: None,
) -> HttpResponse:
    """
    The answer of `work`, done once for the caller and the key of the request.

    `ready` looks at what has to be right beforehand and raises `ProblemError` if it is not; nothing
    is claimed then. Whatever `work` raises undoes it and frees the key. `body` and `files` tell the
    same call from another one (`call_fingerprint.py`). Raises `ProblemError`:
    without a usable key, for other content under it, or while the first call is at work.
    """
    key = key_of(request)
    caller = caller_of(request)
    if body is None and not files:
        _came_without_body(request)

    def not_ready() -> None:
        ready(key)

    outcome = once(
        request,
        caller.id,
        key,
        fingerprints_of_call(request, body, files),
        not_ready=not_ready,
        work=lambda: work(key),
    )
    match outcome:
        case Done(response, _):
            return response
        case Replay(answer):
            return response_from(answer)
        case NotReady(response):
            return response
        case OtherContent(made):
            raise ProblemError(
                Kind.OTHER_CONTENT,
                "This key was used before, for a call with other content. Nothing was changed now; "
                "take a fresh key for a new call.",
                made=made,
            )
        case Busy():
            raise ProblemError(
                Kind.STILL_WORKING,
                "A call with this key is still at work. Ask again with the same key in a moment.",
                headers={"Retry-After": str(RETRY_AFTER_S)},
            )


def _came_without_body(request: HttpRequest) -> None:
    """What is said in a body that nobody reads was not said. Raises `ProblemError`."""
    if request.body.strip() not in (b"", b"{}"):
        raise ProblemError(
            Kind.NOT_VALID,
            f"This call takes no body, and one of {len(request.body):,} bytes came. Nothing was "
            "done; what the call is about stands in its address and its query.",
        )


def key_of(request: HttpRequest) -> str:
    """The key that a call carries. Raises `ProblemError` where it carries none that can be used."""
    given = request.headers.get(HEADER)
    if given is None:
        raise ProblemError(
            Kind.BAD_KEY,
            f"The header {HEADER} is missing. Give a key of your own for this one call, such as a "
            "UUID, and the same again if you have to ask again.",
        )
    key = key_given([], given)
    if isinstance(key, BadKey):
        sentence = key.reason if given else f"The header {HEADER} is empty. Give a key."
        raise ProblemError(Kind.BAD_KEY, sentence)
    return key

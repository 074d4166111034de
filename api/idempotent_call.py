"""Run a call only once for each `Idempotency-Key`, as a form does for its key."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel

from api.bearer import get_caller
from api.problem import ProblemError, ProblemType, problem_responses
from idempotency.claim import InProgressError
from idempotency.fingerprint import FileDigest, content_hash, keyed_fingerprints
from idempotency.key import HEADER, KEY_PATTERN, LONGEST_KEY, InvalidKey, read_key
from idempotency.run_once import RETRY_AFTER_S, run_once
from idempotency.saved_response import DifferentContentError

_KEY_SCHEMA = {"type": "string", "pattern": KEY_PATTERN, "minLength": 1, "maxLength": LONGEST_KEY}
# The part of the OpenAPI document about the key header, which every changing call must have.
KEY_PARAMETER: dict[str, Any] = {
    "parameters": [
        {
            "in": "header",
            "name": HEADER,
            "required": True,
            "schema": _KEY_SCHEMA,
            "description": (
                "A key that you choose for this one call, such as a UUID. If you repeat the call "
                "with the same key, nothing happens again and you get the same response."
            ),
        }
    ]
}


def changing(made: Mapping[int, Any], *problems: int, described: Any = None) -> dict[str, Any]:
    """Return the arguments that describe an operation that changes something.

    `made` maps each status of a successful answer to the answer's body. `problems` are the statuses
    of the operation's problems, besides those that all changing operations share. `described` lists
    the operation's parameters in the OpenAPI document. By default, the key is the only parameter.
    """
    responses = {**made, **problem_responses(409, 413, 415, 422, *problems)}
    return {"response": responses, "openapi_extra": described or KEY_PARAMETER}


def once(work: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Decorate an operation to run only once for the caller and the request's key."""

    @wraps(work)
    def run(request: HttpRequest, **given: Any) -> HttpResponse:
        body = next((one for one in given.values() if isinstance(one, BaseModel)), None)
        return run_call(request, body, lambda: work(request, **given))

    return run


def run_call(
    request: HttpRequest,
    body: BaseModel | None,
    work: Callable[[], HttpResponse],
    *,
    files: Sequence[FileDigest] = (),
    check: Callable[[], None] = lambda: None,
) -> HttpResponse:
    """Run `work` only once for each pair of caller and key. Return its response.

    `check` runs first. If `check` raises `ProblemError`, no key is claimed. An exception in `work`
    rolls back its changes and frees the key. Raises `ProblemError` if there is no usable key, if an
    earlier call used the key with other content, or if the first call with the key is still
    running.
    """
    key = require_key(request)
    if body is None and not files and request.body.strip() not in (b"", b"{}"):
        raise ProblemError(
            ProblemType.NOT_VALID,
            f"This call has no body, but {len(request.body):,} bytes were sent. Nothing was "
            "changed. Put the parameters into the address and the query.",
        )
    try:
        return run_once(
            request,
            get_caller(request).user.pk,
            key,
            call_fingerprints(request, body, files),
            check=check,
            work=work,
        )
    except DifferentContentError as error:
        raise ProblemError(
            ProblemType.OTHER_CONTENT,
            "This key was used before, for a call with other content. Nothing was changed. Use a "
            "new key for a new call.",
            earlier_url=error.earlier_url,
        ) from None
    except InProgressError:
        raise ProblemError(
            ProblemType.STILL_WORKING,
            "A call with this key is still running. Repeat it with the same key in a moment.",
            headers={"Retry-After": str(RETRY_AFTER_S)},
        ) from None


def require_key(request: HttpRequest) -> str:
    """Return the key of a call. Raise `ProblemError` if there is no usable key."""
    given = request.headers.get(HEADER)
    if given is None:
        raise ProblemError(
            ProblemType.BAD_KEY,
            f"The header {HEADER} is missing. Choose a key for this one call, such as a UUID. Use "
            "the same key if you repeat the call.",
        )
    key = read_key([], given)
    if isinstance(key, InvalidKey):
        sentence = key.reason if given else f"The header {HEADER} is empty. Send a key."
        raise ProblemError(ProblemType.BAD_KEY, sentence)
    return key


def call_fingerprints(
    request: HttpRequest, body: BaseModel | None, files: Sequence[FileDigest] = ()
) -> list[bytes]:
    """Return the fingerprints of a call. A missing field counts as its default."""
    content: dict[str, Sequence[str | FileDigest]] = {
        "files": files,
        "query": [
            f"{name}={value}" for name in sorted(request.GET) for value in request.GET.getlist(name)
        ],
    }
    if body is not None:
        for name, value in body.model_dump(mode="json", exclude_defaults=True).items():
            # A text is passed without JSON encoding, so that `content_hash` can normalise its line
            # ends.
            is_text = isinstance(value, str)
            content[f"body.{name}"] = ["text", value] if is_text else ["json", json.dumps(value)]
    return keyed_fingerprints(content_hash(request.method or "", request.path, content))

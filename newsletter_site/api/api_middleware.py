"""
What is true of every answer below /api/, whoever gives it: middleware around all the rest.

Cookies are taken off before anybody looks: a call is its token's, and no browser can be made to
call in somebody's name. It is https or nothing. Every failure is a problem in JSON, also one of the
site itself. Nothing is kept by anybody on the way. HEAD is answered like GET; its body is left out
at the very end (`head_requests.py`). No call has a body of untold length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from api.problem import MEDIA_TYPE, Problem, ProblemType, problem_response

BELOW = "/api/"

# What is said where the answer came from the site and not from a call.
_SAID = {
    400: (ProblemType.NOT_READABLE, "The call cannot be read."),
    403: (ProblemType.NOT_ALLOWED, "This is not allowed."),
    404: (
        ProblemType.NOT_FOUND,
        "There is nothing at this address; docs/api.md has those there are.",
    ),
    405: (ProblemType.NOT_A_METHOD, "The header Allow names the methods of this address."),
    413: (ProblemType.TOO_LARGE, "The body is larger than any call may be."),
    503: (
        ProblemType.NOT_AVAILABLE,
        "It cannot be done at this moment; ask again with the same key.",
    ),
}
_BROKEN = (
    ProblemType.FAILED,
    "Something broke here and nothing was changed. Ask again with the same key; the log says why.",
)
_KEPT = ("Allow", "Retry-After", "WWW-Authenticate")
_WITHOUT_LENGTH = (
    "The body came in pieces (chunked) and without its length, so nothing of it was read and "
    "nothing done. Send it with a Content-Length."
)
_WITHOUT_SLASH = (
    ProblemType.NOT_FOUND,
    "There is nothing at this address; is a slash missing at its end?",
)


@contextmanager
def _as_get(request: HttpRequest) -> Iterator[None]:
    """A request by HEAD is one by GET for this long; who writes the answer has to know which."""
    asked_by = request.method
    if asked_by == "HEAD":
        request.method = "GET"
    try:
        yield
    finally:
        request.method = asked_by


def _has_untold_length(request: HttpRequest) -> bool:
    """Of such a body Django reads nothing, and takes the call for one without a body."""
    length = request.META.get("CONTENT_LENGTH") or ""
    return "HTTP_TRANSFER_ENCODING" in request.META and not length.isdecimal()


class ApiBoundary:
    """Middleware; the outermost, so that no redirect to https and no page comes before it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(BELOW):
            return self.get_response(request)
        request.META.pop("HTTP_COOKIE", None)
        with _as_get(request):
            answer = self._answer(request)
        answer.headers["Cache-Control"] = "no-store"
        answer.headers["X-Content-Type-Options"] = "nosniff"
        return answer

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            # A redirect would have the next call sent in the clear as well, and nobody notice.
            return problem_response(
                Problem(
                    ProblemType.USE_HTTPS,
                    "This came over http. Nothing was done; use https. If a token was sent, "
                    "anybody on the way may have read it: revoke it and make another.",
                )
            )
        if _has_untold_length(request):
            return problem_response(Problem(ProblemType.NOT_READABLE, _WITHOUT_LENGTH))
        answer = self.get_response(request)
        if answer.status_code < 300 or answer.headers.get("Content-Type") == MEDIA_TYPE:
            return answer
        kind, sentence = _SAID.get(answer.status_code, _BROKEN)
        if kind == ProblemType.NOT_FOUND and not request.path_info.endswith("/"):
            kind, sentence = _WITHOUT_SLASH
        kept = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
        methods = set(kept.get("Allow", "").split(", "))
        if "GET" in methods:
            kept["Allow"] = ", ".join(sorted(methods | {"HEAD"}))
        return problem_response(Problem(kind, sentence, headers=kept))

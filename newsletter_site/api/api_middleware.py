"""The outermost middleware, for /api/: no cookies, https only, and a problem for every failure."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from api.problem import MEDIA_TYPE, ProblemType, problem_response

API_ROOT = "/api/"

# For statuses that came from the site and not from a call.
_PROBLEMS = {
    400: (ProblemType.NOT_READABLE, "The call cannot be read."),
    403: (ProblemType.NOT_ALLOWED, "This is not allowed."),
    404: (ProblemType.NOT_FOUND, "There is nothing at this address; docs/api.md has the list."),
    405: (ProblemType.NOT_A_METHOD, "The header Allow names the methods of this address."),
    413: (ProblemType.TOO_LARGE, "The body is larger than any call may be."),
    503: (ProblemType.NOT_AVAILABLE, "It cannot be done now; ask again with the same key."),
}
_FAILED = (
    ProblemType.FAILED,
    "Something broke here and nothing was changed. Ask again with the same key; the log says why.",
)
_WITHOUT_SLASH = (
    ProblemType.NOT_FOUND,
    "There is nothing at this address; is a slash missing at its end?",
)
_COPIED_HEADERS = ("Allow", "Retry-After", "WWW-Authenticate")


class ApiBoundary:
    """It comes before redirects to https and pages. `wsgi.py` leaves out the body for HEAD."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(API_ROOT):
            return self.get_response(request)
        request.META.pop("HTTP_COOKIE", None)
        method = request.method
        if method == "HEAD":
            request.method = "GET"
        try:
            response = self._respond(request)
        finally:
            request.method = method  # the server has to know later which it was
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    def _respond(self, request: HttpRequest) -> HttpResponseBase:
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            # After a redirect the next call would come in the clear too, unnoticed.
            return problem_response(
                ProblemType.USE_HTTPS,
                "This came over http. Nothing was done; use https. If a token was sent, anybody on "
                "the way may have read it: revoke it and make another.",
            )
        length = request.META.get("CONTENT_LENGTH") or ""
        if "HTTP_TRANSFER_ENCODING" in request.META and not length.isdecimal():
            return problem_response(
                ProblemType.NOT_READABLE,
                "The body came in pieces (chunked) and without its length, so nothing of it was "
                "read and nothing done. Send it with a Content-Length.",
            )
        response = self.get_response(request)
        if response.status_code < 300 or response.headers.get("Content-Type") == MEDIA_TYPE:
            return response
        kind, sentence = _PROBLEMS.get(response.status_code, _FAILED)
        if kind == ProblemType.NOT_FOUND and not request.path_info.endswith("/"):
            kind, sentence = _WITHOUT_SLASH
        headers = {
            name: response.headers[name] for name in _COPIED_HEADERS if name in response.headers
        }
        methods = set(headers.get("Allow", "").split(", "))
        if "GET" in methods:
            headers["Allow"] = ", ".join(sorted(methods | {"HEAD"}))
        return problem_response(kind, sentence, headers=headers)

"""Middleware for /api/: ignore cookies, require https, and answer with problems."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from api.problem import MEDIA_TYPE, ProblemType, problem_response

API_ROOT = "/api/"

# Problem documents that replace the site's error pages, by HTTP status.
_PROBLEMS = {
    400: (ProblemType.NOT_READABLE, "The request cannot be read."),
    403: (ProblemType.NOT_ALLOWED, "This is not allowed."),
    404: (ProblemType.NOT_FOUND, "Nothing exists at this address. See the list in docs/api.md."),
    405: (ProblemType.NOT_A_METHOD, "The header Allow names the methods of this address."),
    413: (ProblemType.TOO_LARGE, "The body is larger than the limit."),
    503: (
        ProblemType.NOT_AVAILABLE,
        "This is not possible at the moment. Repeat the call with the same key.",
    ),
}
_FAILED = (
    ProblemType.FAILED,
    "The server failed. Nothing was changed. Repeat the call with the same key. See the log.",
)
_WITHOUT_SLASH = (
    ProblemType.NOT_FOUND,
    "Nothing exists at this address. It may need a slash at its end.",
)
UNKNOWN_HOST = (
    ProblemType.UNKNOWN_HOST,
    (
        "Nothing was changed. Use the host name of the site's address. An operator can add another "
        "host name to ALLOWED_HOSTS."
    ),
)
_COPIED_HEADERS = ("Allow", "Retry-After", "WWW-Authenticate")


class ApiBoundary:
    """The outermost middleware: it runs before the redirect to https.

    This class handles HEAD like GET, and `wsgi.py` then removes the body of the answer.
    """

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
            request.method = method  # restore the method for the web server
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    def _respond(self, request: HttpRequest) -> HttpResponseBase:
        if settings.SECURE_SSL_REDIRECT and not request.is_secure():
            # Refuse the call instead of redirecting it to https. If the call were redirected, it
            # would succeed, nobody would notice the wrong URL, and every later call would be
            # unencrypted too.
            return problem_response(
                ProblemType.USE_HTTPS,
                "The call came over http. Nothing was changed. Use https. If you sent a token, "
                "others may have read it: revoke it and create a new one.",
            )
        if "HTTP_TRANSFER_ENCODING" in request.META:
            return problem_response(
                ProblemType.NOT_READABLE,
                "The body is chunked and has no length, so it was not read. Nothing was changed. "
                "Send it with a Content-Length.",
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

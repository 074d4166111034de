"""The 503 response with `Retry-After`. It needs no database, no session and no sign-in."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

# A restart takes some seconds, a failover half a minute.
RETRY_AFTER_S = 10


def service_unavailable(request: HttpRequest, *, why: str, was_begun: bool) -> HttpResponse:
    """
    A page for people, JSON for programs. `why` is one sentence that strangers may read.

    `was_begun` says whether the request may have been done in part.
    """
    response: HttpResponse
    path = request.path_info
    if path.startswith(("/api/", "/health/")) or path.endswith(".json"):
        reasons = [f"{why} Whatever was asked for can be asked for again."]
        response = JsonResponse({"status": "unavailable", "reasons": reasons}, status=503)
    else:
        was_read = request.method in {"GET", "HEAD"}
        context = {"why": why, "was_read": was_read, "was_begun": was_begun}
        response = HttpResponse(render_to_string("503.html", context), status=503)
    response["Retry-After"] = str(RETRY_AFTER_S)
    response["Cache-Control"] = "no-store"
    return response

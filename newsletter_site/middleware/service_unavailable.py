"""
The answer to whoever comes at a bad moment: 503 with `Retry-After`, a page or JSON.

It says what became of what was asked for. The page needs no database, no session and no sign-in.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

# A restart takes some seconds, a failover half a minute.
RETRY_AFTER_S = 10


def come_again(request: HttpRequest, *, why: str, was_begun: bool) -> HttpResponse:
    """
    `why` is one sentence that any stranger may read. `was_begun` says whether any of what was asked
    for may have been done.
    """
    said: HttpResponse
    if _is_for_a_program(request.path_info):
        reasons = [f"{why} Whatever was asked for can be asked for again."]
        said = JsonResponse({"status": "unavailable", "reasons": reasons}, status=503)
    else:
        was_read = request.method in {"GET", "HEAD"}
        told = {"why": why, "was_read": was_read, "was_begun": was_begun}
        said = HttpResponse(render_to_string("503.html", told), status=503)
    said["Retry-After"] = str(RETRY_AFTER_S)
    said["Cache-Control"] = "no-store"
    return said


def _is_for_a_program(path: str) -> bool:
    return path.startswith(("/api/", "/health/")) or path.endswith(".json")

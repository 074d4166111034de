"""
The addresses that probes ask. They translate a verdict into HTTP, and look at nothing else.

No sign-in, no session, no look at the name that was asked for: see `ops_middleware.py`.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse

from newsletter_site.operations.health import checks
from newsletter_site.operations.health.check_result import CheckResult

SAMPLES = "text/plain; version=0.0.4; charset=utf-8"


def live(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return _answer(request, "live", checks.live())


def ready(request: HttpRequest) -> HttpResponse:
    """Visitors may be sent here."""
    return _answer(request, "ready", checks.ready())


def workers(request: HttpRequest) -> HttpResponse:
    """Somebody is at work."""
    return _answer(request, "workers", checks.workers())


def _answer(request: HttpRequest, check: str, verdict: CheckResult) -> HttpResponse:
    answer: HttpResponse
    if not verdict.is_well:
        answer = JsonResponse(verdict.as_json(), status=503)
    elif _is_prometheus(request):
        # So that Prometheus can ask it like any other target, and `up` is the verdict.
        answer = HttpResponse(f'homing_health{{check="{check}"}} 1\n', content_type=SAMPLES)
    else:
        answer = JsonResponse(verdict.as_json())
    answer["Cache-Control"] = "no-store"
    return answer


def _is_prometheus(request: HttpRequest) -> bool:
    """Whether the answer is to be in Prometheus' own format."""
    accepted = request.headers.get("Accept", "")
    return "application/openmetrics-text" in accepted or "version=0.0.4" in accepted

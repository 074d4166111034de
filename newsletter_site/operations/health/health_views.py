"""The addresses that probes ask, as `ops_middleware.py` answers them."""

from django.http import HttpRequest, HttpResponse, JsonResponse

from newsletter_site.operations.health.checks import run_check

PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def health(request: HttpRequest, check: str) -> HttpResponse:
    """Answer 200, or 503 with the reasons."""
    result = run_check(check)
    response: HttpResponse
    if result.is_healthy and _is_prometheus(request):
        # Prometheus asks it like any other target, and `up` is the result.
        response = HttpResponse(
            f'homing_health{{check="{check}"}} 1\n', content_type=PROMETHEUS_TEXT
        )
    else:
        response = JsonResponse(result.as_json(), status=200 if result.is_healthy else 503)
    response["Cache-Control"] = "no-store"
    return response


def _is_prometheus(request: HttpRequest) -> bool:
    accepted = request.headers.get("Accept", "")
    return "application/openmetrics-text" in accepted or "version=0.0.4" in accepted

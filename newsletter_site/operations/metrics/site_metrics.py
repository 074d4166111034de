"""The site's counters: posts under a key, sign-ins, and requests by route."""

from enum import StrEnum
from typing import Any

from delivery.monitoring.metrics_storage import Histogram, metrics_buffer
from idempotency.run_once import PostOutcome
from newsletter_site.operations.metrics.flush_metrics import flusher

FORM_POSTS = "homing_form_posts_total"
SIGN_INS = "homing_sign_ins_total"
REQUESTS = "homing_http_requests_total"
REQUEST_SECONDS = Histogram(
    "homing_http_request_duration_seconds", (0.025, 0.1, 0.25, 1.0, 2.5, 10.0)
)
# The route of all files and unknown URLs. Unknown URLs share one series, because visitors can
# invent any number of them.
NO_ROUTE = "(none)"
SERVER_ERRORS = "5xx"
UNAVAILABLE = "503"


class SignInResult(StrEnum):
    """How an attempt to sign in ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    THROTTLED = "throttled"


def count_form(outcome: PostOutcome, **_: Any) -> None:
    """Count a posted form, when `idempotency` sends the signal `form_posted`."""
    metrics_buffer.add(FORM_POSTS, result=outcome.value)


def observe_request(route: str, status: int, seconds: float) -> None:
    """Count an answered request.

    Status 503 is counted separately from other server errors, because the page does not cause this
    error.
    """
    status_class = UNAVAILABLE if status == 503 else f"{status // 100}xx"
    metrics_buffer.add(REQUESTS, route=route, status=status_class)
    metrics_buffer.observe(REQUEST_SECONDS, seconds, route=route)
    flusher.schedule()

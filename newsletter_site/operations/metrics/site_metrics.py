"""What the site itself counts: posts under a key by how they ended, sign-ins, and requests."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from delivery.monitoring.metrics_buffer import Histogram, metrics_buffer
from idempotency.outcome_signal import Ended

FORMS = "homing_forms_total"
SIGN_INS = "homing_sign_ins_total"
REQUESTS = "homing_http_requests_total"
REQUEST_SECONDS = Histogram(
    "homing_http_request_duration_seconds", (0.025, 0.1, 0.25, 1.0, 2.5, 10.0)
)
# Files, and addresses that nothing has: as many as anybody makes up.
NO_ROUTE = "(none)"
SERVER_ERRORS = "5xx"
UNAVAILABLE = "503"


class SignInResult(StrEnum):
    """How a try to sign in ended."""

    RIGHT = "right"
    WRONG = "wrong"
    REFUSED = "refused"


def count_form(ended: Ended, **_: Any) -> None:
    """A posted form ended; a listener of `idempotency.outcome_signal`."""
    metrics_buffer.add(FORMS, ended=ended.value)


def count_sign_in(result: SignInResult) -> None:
    """A try to sign in ended, or one to prove at an open session whose it is."""
    metrics_buffer.add(SIGN_INS, result=result.value)


def observe_request(route: str, status: int, seconds: float) -> None:
    """A request was answered. 503 is said apart: it says come again, and is no fault of a page."""
    of_a_class = UNAVAILABLE if status == 503 else f"{status // 100}xx"
    metrics_buffer.add(REQUESTS, route=route, status=of_a_class)
    metrics_buffer.observe(REQUEST_SECONDS, seconds, route=route)

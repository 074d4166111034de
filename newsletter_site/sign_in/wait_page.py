"""What is said to whoever failed too often to sign in: when to try again, and nothing else."""

from __future__ import annotations

import math
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from delivery.humanise import duration
from newsletter_site.sign_in.attempts import Refused


def refused_page(
    request: HttpRequest, response: HttpResponse | None = None, credentials: Any = None
) -> HttpResponse:
    """
    429. AXES_LOCKOUT_CALLABLE. The same whoever was named and whatever the password was: neither
    was looked at.
    """
    tried = getattr(request, "sign_in_tried", None)
    wait_s = math.ceil(tried.wait_s) if isinstance(tried, Refused) else 1
    page = render(
        request,
        "sign_in/wait.html",
        {"wait": duration(wait_s), "again": request.get_full_path()},
        status=429,
    )
    page.headers["Retry-After"] = str(wait_s)
    page.headers["Cache-Control"] = "no-store"
    return page


def after_a_pause(wait_s: int) -> str:
    """What is said of a code that was not looked at, because of a wrong one before it."""
    return (
        "After a wrong code the next one is looked at only after a pause. Try again in "
        f"{duration(wait_s)}."
    )

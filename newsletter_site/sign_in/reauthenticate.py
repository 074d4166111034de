"""
Asks whoever sits at an open session who they are: the only place that looks at such a proof.

It is their password, or a code where they have a second factor. A wrong one counts like one at the
sign-in page: a session that was left open, or stolen, would be the way around that otherwise.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from newsletter_site.sign_in import attempts, two_step_devices
from newsletter_site.sign_in.attempts import Refused
from newsletter_site.sign_in.axes_handler import say_that_it_failed, take_a_try
from newsletter_site.sign_in.two_step_devices import Answer
from newsletter_site.sign_in.wait_page import after_a_pause

NOT_YOU = "This is neither your password nor one of your codes."
NOT_YOUR_PASSWORD = "This is not your password."  # noqa: S105


def what_is_wrong(request: HttpRequest, proof: str) -> str | Refused:
    """One sentence where `proof` proves nothing, none where it does; `Refused` looks at nothing."""
    author: Any = request.user
    tried = take_a_try(request, author.get_username())
    if isinstance(tried, Refused):
        return tried
    if author.check_password(proof):
        attempts.take_back(tried)
        return ""
    has_codes = two_step_devices.is_asked_of(author)
    if has_codes and two_step_devices.looks_like_a_code(proof):
        checked = two_step_devices.check(author, proof)
        if checked.answer is Answer.RIGHT:
            attempts.take_back(tried)
            return ""
        # Also during a pause the try counts: as a password it was looked at.
        if checked.answer is Answer.PAUSED:
            return after_a_pause(checked.wait_s)
    say_that_it_failed(request, author.get_username(), "a password or code was wrong, signed in")
    return NOT_YOU if has_codes else NOT_YOUR_PASSWORD

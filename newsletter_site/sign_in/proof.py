"""
Asks whoever sits at an open session who they are: the only place that looks at such a proof.

It is their password, or a code where they have a second factor. A wrong one counts like one at the
sign-in page: a session that was left open, or stolen, would be the way around that otherwise.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from newsletter_site.sign_in import counts, second_factor
from newsletter_site.sign_in.counting import say_that_it_failed, take_a_try
from newsletter_site.sign_in.counts import Refused
from newsletter_site.sign_in.second_factor import Answer
from newsletter_site.sign_in.wait import after_a_pause

NOT_YOU = "This is neither your password nor one of your codes."
NOT_YOUR_PASSWORD = "This is not your password."  # noqa: S105


def what_is_wrong(request: HttpRequest, proof: str) -> str | Refused:
    """One sentence where `proof` proves nothing, none where it does; `Refused` looks at nothing."""
    author: Any = request.user
    tried = take_a_try(request, author.get_username())
    if isinstance(tried, Refused):
        return tried
    if author.check_password(proof):
        counts.take_back(tried)
        return ""
    has_codes = second_factor.is_asked_of(author)
    if has_codes and second_factor.looks_like_a_code(proof):
        checked = second_factor.check(author, proof)
        if checked.answer is Answer.RIGHT:
            counts.take_back(tried)
            return ""
        # Also during a pause the try counts: as a password it was looked at.
        if checked.answer is Answer.PAUSED:
            return after_a_pause(checked.wait_s)
    say_that_it_failed(request, author.get_username(), "a password or code was wrong, signed in")
    return NOT_YOU if has_codes else NOT_YOUR_PASSWORD

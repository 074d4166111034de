"""Ask for the password or a code again, at an open session. A wrong one is a failed sign-in."""

from typing import Any

from django.http import HttpRequest

from newsletter_site.sign_in import two_step_devices
from newsletter_site.sign_in.throttle import count_failure, may_try
from newsletter_site.sign_in.two_step_devices import pause_sentence

NEITHER = "This is neither your password nor one of your codes."
NOT_YOUR_PASSWORD = "This is not your password."  # noqa: S105


def identity_error(request: HttpRequest) -> str:
    """Return a sentence unless the password or a code was posted. Too many failures: no check."""
    author: Any = request.user
    password_or_code = request.POST.get("password_or_code", "")
    name = author.get_username()
    if not may_try(request, name):
        return "Too many failures."
    if author.check_password(password_or_code):
        return ""
    has_codes = two_step_devices.is_on(author)
    error = NEITHER if has_codes else NOT_YOUR_PASSWORD
    if has_codes and two_step_devices.looks_like_a_code(password_or_code):
        checked = two_step_devices.check(author, password_or_code)
        if checked.is_right:
            return ""
        # The attempt counts during a pause too: as a password it was checked.
        if checked.wait_s:
            error = pause_sentence(checked.wait_s)
    count_failure(request, name)
    return error

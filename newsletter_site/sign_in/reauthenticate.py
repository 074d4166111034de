"""Check the password or a code again in an open session.

A wrong password or code counts as a failed sign-in.
"""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from newsletter_site.sign_in import two_step_devices
from newsletter_site.sign_in.throttle import count_failure, may_try
from newsletter_site.sign_in.two_step_devices import pause_sentence

NEITHER = gettext_lazy("This is neither your password nor one of your codes.")
NOT_YOUR_PASSWORD = gettext_lazy("This is not your password.")


def identity_error(request: HttpRequest) -> str:
    """Return "" if the posted password or code is right, otherwise an error."""
    author: Any = request.user
    password_or_code = request.POST.get("password_or_code", "")
    name = author.get_username()
    if not may_try(request, name):
        return _("Too many failed attempts. Try again later.")
    if author.check_password(password_or_code):
        return ""
    has_codes = two_step_devices.is_on(author)
    error = str(NEITHER if has_codes else NOT_YOUR_PASSWORD)
    if has_codes:
        checked = two_step_devices.check(author, password_or_code)
        if checked.is_right:
            return ""
        # Count the attempt also during the pause after wrong codes, because the posted text was
        # also checked as a password.
        if checked.wait_s:
            error = pause_sentence(checked.wait_s)
    count_failure(request, name)
    return error

"""Check the password or a code again in an open session.

A wrong password or code counts as a failed sign-in. An author who has neither must have signed in
recently.
"""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from newsletter_site.sign_in import two_step_devices
from newsletter_site.sign_in.finish_sign_in import signed_in_recently
from newsletter_site.sign_in.throttle import count_failure, may_try
from newsletter_site.sign_in.two_step_devices import pause_sentence

NEITHER = gettext_lazy("This is neither your password nor one of your codes.")
SIGN_IN_AGAIN = gettext_lazy(
    "You have no password to confirm this with. Sign out, sign in again, and do this within ten "
    "minutes."
)
NOT_YOUR_PASSWORD = gettext_lazy("This is not your password.")


def identity_error(request: HttpRequest) -> str:
    """Return "" if the posted password or code is right, otherwise an error."""
    author: Any = request.user
    has_codes = two_step_devices.is_on(author)
    if not author.has_usable_password() and not has_codes:
        return "" if signed_in_recently(request) else str(SIGN_IN_AGAIN)
    password_or_code = request.POST.get("password_or_code", "")
    name = author.get_username()
    if not may_try(request, name):
        return _("Too many failed attempts. Try again later.")
    if author.check_password(password_or_code):
        return ""
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

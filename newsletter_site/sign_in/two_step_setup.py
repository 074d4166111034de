"""
The set-up of a second factor that a session has begun: the only place that notes and reads whose.

Whoever typed the password began it: the secret is shown in that session alone, for a quarter of an
hour, and until the password or the factor changes. Anybody else who finds a session of that account
open has to begin another, with the password.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from django_otp.plugins.otp_totp.models import TOTPDevice

from newsletter_site.sign_in import two_step_devices
from newsletter_site.sign_in.two_step_devices import Answer, Checked

_BEGUN = "second-factor.begun"


def begin_in(request: HttpRequest) -> None:
    """Whoever is signed in here begins; nothing where they have a second factor already."""
    author: Any = request.user
    number = two_step_devices.begin(author)
    if number is not None:
        request.session[_BEGUN] = [number, author.get_session_auth_hash()]


def begun_in(request: HttpRequest) -> TOTPDevice | None:
    """The device that is being set up here; None where it is not, or not any more."""
    number = _number_of(request)
    return None if number is None else two_step_devices.being_set_up(request.user, number)


def confirm_in(request: HttpRequest, typed: str) -> Checked | list[str]:
    """The first code of the device that is being set up here: as `second_factor.confirm`."""
    number = _number_of(request)
    if number is None:
        return Checked(Answer.NOT_BEGUN)
    return two_step_devices.confirm(request.user, number, typed)


def _number_of(request: HttpRequest) -> int | None:
    author: Any = request.user
    number, standing = request.session.get(_BEGUN, (None, ""))
    return number if constant_time_compare(standing, author.get_session_auth_hash()) else None

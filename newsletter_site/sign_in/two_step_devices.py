"""Two-step devices (django-otp): an authenticator app and ten recovery codes."""

import base64
import hashlib
import math
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from delivery.humanise import duration
from newsletter_site.models import User
from newsletter_site.sign_in.operator_record import record_operator
from subscribers.record_activity import record_activity

RECOVERY_CODES = 10
SETUP_EXPIRES = timedelta(minutes=15)
# The pause doubles after each wrong code, up to this number of codes (2 ** 10 s). Without this
# limit, a stranger could lock the owner out for years.
_LONGEST_PAUSE_AFTER = 11
# Characters that look alike are left out. A code has 60 random bits, so nobody can find a code from
# its hash by guessing.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP = 3, 4
_APP_CODE = re.compile(r"[0-9]{6}")
_RECOVERY_CODE = re.compile(rf"[{_ALPHABET}]{{{_GROUPS * _GROUP}}}")


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """The result of a check.

    If `wait_s` is above 0, the account is in a pause after wrong codes, and the code was not
    checked.
    """

    is_right: bool
    wait_s: int = 0
    is_recovery: bool = False


def is_on(author: Any) -> bool:
    """Return whether two-step sign-in is on for this author."""
    return TOTPDevice.objects.filter(user=author, confirmed=True).exists()


def pending_device(author: Any, device_id: int | None) -> TOTPDevice | None:
    """Return the unexpired device that waits for its first code, or None."""
    if is_on(author):
        return None
    since = cast("Any", Now()) - SETUP_EXPIRES
    pending = TOTPDevice.objects.filter(user=author, confirmed=False, created_at__gt=since)
    return pending.filter(pk=device_id).first()


def secret_text(device: TOTPDevice) -> str:
    """Return the secret in groups of four characters, to be typed into an app."""
    return " ".join(re.findall("....", base64.b32encode(device.bin_key).decode()))


def recovery_codes_left(author: Any) -> int:
    """Return the number of the author's unused recovery codes."""
    return StaticToken.objects.filter(device__user=author, device__confirmed=True).count()


def start_setup(author: Any) -> int | None:
    """Replace a pending device; return the new id, or None if two-step is already on."""
    with _locked(author):
        if is_on(author):
            return None
        TOTPDevice.objects.filter(user=author, confirmed=False).delete()
        device = TOTPDevice.objects.create(user=author, name="app", confirmed=False)
        # django-otp writes the web server's time, but the device's age is measured by the
        # database's clock.
        TOTPDevice.objects.filter(pk=device.pk).update(created_at=Now())
        return int(device.pk)


def finish_setup(author: Any, device_id: int | None, typed: str) -> CheckedCode | list[str] | None:
    """Turn two-step sign-in on with the first code, and end all sessions.

    Return the recovery codes, or the failed check, or None if no set-up is open.
    """
    with _locked(author):
        device = pending_device(author, device_id)
        if device is None:
            return None
        checked = _verify(device, _normalise(typed))
        if not checked.is_right:
            return checked
        TOTPDevice.objects.filter(user=author).exclude(pk=device.pk).delete()
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        _set_since(author, Now())
        record_activity("set_up_two_step", author.pk, author)
        return _make_recovery_codes(author)


def check(author: Any, typed: str) -> CheckedCode:
    """Check a code of this author. A right code is used up."""
    code = _normalise(typed)
    with _locked(author):
        if _APP_CODE.fullmatch(code):
            device = TOTPDevice.objects.filter(user=author, confirmed=True).first()
            return _verify(device, code) if device else CheckedCode(is_right=False)
        recovery = StaticDevice.objects.filter(user=author, confirmed=True).first()
        if recovery is None or not _RECOVERY_CODE.fullmatch(code):
            return CheckedCode(is_right=False)
        return replace(_verify(recovery, _hash(code)), is_recovery=True)


def renew_recovery_codes(author: Any) -> list[str]:
    """Replace the recovery codes with ten new ones."""
    with _locked(author):
        record_activity("new_recovery_codes", author.pk, author)
        return _make_recovery_codes(author)


def end_pauses(author: Any) -> None:
    """End the pauses that follow wrong codes, so that the next code is checked now."""
    for devices in (TOTPDevice.objects, StaticDevice.objects):
        devices.filter(user=author).update(
            throttling_failure_count=0, throttling_failure_timestamp=None
        )


def remove(author: Any, *, by_operator: bool = False) -> bool:
    """Turn two-step sign-in off and end all sessions.

    Return False if two-step sign-in was already off.
    """
    with _locked(author):
        was_on = is_on(author)
        TOTPDevice.objects.filter(user=author).delete()
        StaticDevice.objects.filter(user=author).delete()
        if was_on:
            _set_since(author, None)
            if by_operator:
                record_operator("remove_two_step_by_operator", author)
            else:
                record_activity("remove_two_step", author.pk, author)
        return was_on


def _verify(device: Any, code: str) -> CheckedCode:
    device.throttling_failure_count = min(device.throttling_failure_count, _LONGEST_PAUSE_AFTER)
    allowed, details = device.verify_is_allowed()
    if not allowed:
        left = (details["locked_until"] - timezone.now()).total_seconds()
        return CheckedCode(is_right=False, wait_s=max(1, math.ceil(left)))
    return CheckedCode(is_right=device.verify_token(code))


def _make_recovery_codes(author: Any) -> list[str]:
    StaticDevice.objects.filter(user=author).delete()
    device = StaticDevice.objects.create(user=author, name="recovery codes")
    codes = [
        "".join(secrets.choice(_ALPHABET) for _ in range(_GROUPS * _GROUP))
        for _ in range(RECOVERY_CODES)
    ]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=_hash(code)) for code in codes)
    return ["-".join(re.findall("." * _GROUP, code)) for code in codes]


def _hash(code: str) -> str:
    """Return 96 bits of a code's hash, because django-otp's column cannot store more."""
    return base64.urlsafe_b64encode(hashlib.sha256(code.encode()).digest()[:12]).decode()


def pause_sentence(wait_s: int) -> str:
    """Return the error for a code that was not checked."""
    return _("After a wrong code there is a pause. Try again in {time}.").format(
        time=duration(wait_s)
    )


def _normalise(typed: str) -> str:
    return re.sub(r"[\s-]", "", typed).lower()


@contextmanager
def _locked(author: Any) -> Iterator[None]:
    """Allow an account one transaction at a time, so that a code works only once."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=author.pk)
        yield


def _set_since(author: Any, since: Now | None) -> None:
    """Set or clear the start of two-step sign-in, and end all sessions.

    The sessions end because a session's hash depends on this time (`User`).
    """
    author.two_step_since = since
    author.save(update_fields=["two_step_since"])
    author.refresh_from_db(fields=["two_step_since"])

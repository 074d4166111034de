"""
The second factor of an account: the only place that makes, asks and takes away its devices.

An app on a telephone shows a new code every half minute; ten recovery codes are good for once each.
The secret is shown while it is set up and never again (`setting_up`), and of a recovery code only
its hash is kept. After a wrong code the next one is looked at only after a pause that doubles
(django-otp), up to a bound.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, cast

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from newsletter_site.models import User
from newsletter_site.sign_in.account_activity import record, record_from_the_command_line

RECOVERY_CODES = 10
# As long as it takes to find an app and install it; nobody comes back to a set-up next week.
SET_UP_WITHIN = timedelta(minutes=15)
# After so many wrong codes in a row pauses grow no longer: 2 ** 10 s, about as long as the longest
# wait at the door. Whoever knows a password could keep its owner out for years otherwise.
_LONGEST_PAUSE_AFTER = 11
# Sixty bits: nobody finds one from its hash. Without signs that look like one another.
_SIGNS = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP = 3, 4
_OF_THE_APP = re.compile(r"[0-9]{6}")
_RECOVERY = re.compile(rf"[{_SIGNS}]{{{_GROUPS * _GROUP}}}")
_NAME = "telephone"


class Answer(Enum):
    """What a code was worth."""

    RIGHT = "right"
    WRONG = "wrong"
    PAUSED = "not looked at"
    NOT_BEGUN = "for no set-up that is still open"


@dataclass(frozen=True, slots=True)
class Checked:
    """
    What a code was worth; `wait_s` says when the next one is looked at, where it was not.

    `is_recovery` says whether it was, or would have been, a recovery code.
    """

    answer: Answer
    wait_s: int = 0
    is_recovery: bool = False


def is_asked_of(author: Any) -> bool:
    """Whether this author signs in with a code besides."""
    return TOTPDevice.objects.filter(user=author, confirmed=True).exists()


def being_set_up(author: Any, number: int) -> TOTPDevice | None:
    """The device of this number, while it waits for its first code; None of a quarter hour ago."""
    if is_asked_of(author):
        return None
    since = cast("Any", Now()) - SET_UP_WITHIN
    begun = TOTPDevice.objects.filter(user=author, confirmed=False, created_at__gt=since)
    return begun.filter(pk=number).first()


def secret_of(device: TOTPDevice) -> str:
    """The secret as an app takes it, in groups of four. For a device that is being set up."""
    plain = base64.b32encode(device.bin_key).decode()
    return " ".join(re.findall("....", plain))


def recovery_codes_left(author: Any) -> int:
    """How many are left."""
    return StaticToken.objects.filter(device__user=author, device__confirmed=True).count()


def begin(author: Any) -> int | None:
    """
    A fresh secret to be taken in by an app; one that was begun before is worth nothing more.

    The number of its device; None, and nothing done, where a code is asked for already.
    """
    with transaction.atomic():
        _hold(author)
        if is_asked_of(author):
            return None
        TOTPDevice.objects.filter(user=author, confirmed=False).delete()
        device = TOTPDevice.objects.create(user=author, name=_NAME, confirmed=False)
        # The library noted the web server's time; how old it is, is told by the database's.
        TOTPDevice.objects.filter(pk=device.pk).update(created_at=Now())
        return int(device.pk)


def confirm(author: Any, number: int, typed: str) -> Checked | list[str]:
    """
    The first code of the device of this number, which is being set up: from now on it is asked for.

    Returns the recovery codes, which nobody sees again. Every session that began before ends.
    """
    with transaction.atomic():
        _hold(author)
        device = being_set_up(author, number)
        if device is None:
            return Checked(Answer.NOT_BEGUN)
        checked = _asked(device, _without_blanks(typed))
        if checked.answer is not Answer.RIGHT:
            return checked
        TOTPDevice.objects.filter(user=author).exclude(pk=device.pk).delete()
        TOTPDevice.objects.filter(pk=device.pk).update(confirmed=True)
        _end_sessions(author, _now())
        record(author, author, "Set up a second factor")
        return _new_codes(author)


def check(author: Any, typed: str) -> Checked:
    """Whether a code is this author's. It is good for once: who asks twice is refused."""
    code = _without_blanks(typed)
    with transaction.atomic():
        _hold(author)
        if _OF_THE_APP.fullmatch(code):
            device = TOTPDevice.objects.filter(user=author, confirmed=True).first()
            return _asked(device, code) if device else Checked(Answer.WRONG)
        recovery = StaticDevice.objects.filter(user=author, confirmed=True).first()
        if recovery is None or not _RECOVERY.fullmatch(code):
            return Checked(Answer.WRONG)
        return replace(_asked(recovery, _hash(code)), is_recovery=True)


def looks_like_a_code(typed: str) -> bool:
    """Whether somebody typed a code, and no password, where either will do."""
    code = _without_blanks(typed)
    return bool(_OF_THE_APP.fullmatch(code) or _RECOVERY.fullmatch(code))


def new_codes(author: Any) -> list[str]:
    """Ten fresh recovery codes; the ones before are worth nothing more."""
    with transaction.atomic():
        _hold(author)
        record(author, author, "Made new recovery codes")
        return _new_codes(author)


def end_pauses(author: Any) -> None:
    """The next code is looked at, however many wrong ones came before it."""
    for devices in (TOTPDevice.objects, StaticDevice.objects):
        devices.filter(user=author).update(
            throttling_failure_count=0, throttling_failure_timestamp=None
        )


def remove(author: Any, *, by_operator: bool = False) -> bool:
    """
    No code is asked for any more. False if none was. Sessions that began before end.

    Its line in the log is written with it, or neither is; an operator with the shell is named so.
    """
    with transaction.atomic():
        _hold(author)
        was_there = is_asked_of(author)
        TOTPDevice.objects.filter(user=author).delete()
        StaticDevice.objects.filter(user=author).delete()
        if was_there:
            _end_sessions(author, None)
            if by_operator:
                record_from_the_command_line(author, "An operator took the second factor away")
            else:
                record(author, author, "Took the second factor away")
        return was_there


def _asked(device: Any, code: str) -> Checked:
    device.throttling_failure_count = min(device.throttling_failure_count, _LONGEST_PAUSE_AFTER)
    allowed, why = device.verify_is_allowed()
    if not allowed:
        left = (why["locked_until"] - timezone.now()).total_seconds()
        return Checked(Answer.PAUSED, max(1, math.ceil(left)))
    return Checked(Answer.RIGHT if device.verify_token(code) else Answer.WRONG)


def _new_codes(author: Any) -> list[str]:
    StaticDevice.objects.filter(user=author).delete()
    device = StaticDevice.objects.create(user=author, name="recovery codes")
    codes = [
        "".join(secrets.choice(_SIGNS) for _ in range(_GROUPS * _GROUP))
        for _ in range(RECOVERY_CODES)
    ]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=_hash(one)) for one in codes)
    return ["-".join(re.findall("." * _GROUP, one)) for one in codes]


def _hash(code: str) -> str:
    """As much of the hash as django-otp has room for: 96 bits."""
    return base64.urlsafe_b64encode(hashlib.sha256(code.encode()).digest()[:12]).decode()


def _without_blanks(typed: str) -> str:
    return re.sub(r"[\s-]", "", typed).lower()


def _hold(author: Any) -> None:
    """One at a time for each account: two tries at once are two, and a code is good for once."""
    User.objects.select_for_update().get(pk=author.pk)


def _end_sessions(author: Any, since: datetime | None) -> None:
    """A session's hash is made of the password and of this moment (`User`)."""
    author.second_factor_since = since
    author.save(update_fields=["second_factor_since"])


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now

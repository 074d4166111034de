"""Edith's browser and her authenticator app."""

from __future__ import annotations

import time
from typing import Any

from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

LOGIN = "/admin/login/"
PAGE = "/admin/second-factor/"
PICTURE = f"{PAGE}code.svg"
PASSWORD = "a long password"
DESK = "/admin/newsletters/issues/"


class Browser(Client):
    def at(self, address: str) -> Any:
        return self.get(address, secure=True)

    def send(self, address: str, **fields: str) -> Any:
        return self.post(address, fields, secure=True)

    def sign_in(self, code: str = "", **fields: str) -> Any:
        answer = self.send(LOGIN, username="edith", password=PASSWORD, **fields)
        return self.send(LOGIN, code=code, **fields) if code else answer

    def session_alone(self) -> Browser:
        """Return a browser with this session, but without the cookie of a known browser."""
        thief = Browser()
        thief.cookies["sessionid"] = self.cookies["sessionid"].value
        return thief

    @property
    def is_signed_in(self) -> bool:
        return self.at(DESK).status_code == 200


def code_now(steps: int = 0) -> str:
    """Return the code of Edith's newest device, now or after some steps of 30 seconds."""
    device = TOTPDevice.objects.order_by("pk").last()
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time() + steps * device.step
    return f"{totp.token():06d}"


def time_goes_by() -> None:
    """Let the last code be used again, and end the pause that follows wrong codes."""
    TOTPDevice.objects.update(last_t=-1, throttling_failure_timestamp=None)
    StaticDevice.objects.update(throttling_failure_timestamp=None)

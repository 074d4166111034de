"""/metrics says how many sign-ins were right, wrong or refused, so that guessing is seen."""

from __future__ import annotations

import re

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.test import Client

from delivery.queue import tally
from delivery.tally import tallies

pytestmark = pytest.mark.django_db(transaction=True)


def counted() -> dict[str, float]:
    """What a scrape says by now."""
    tally.flush()
    page = Client().get("/metrics", headers={"host": "localhost:8000"}).content.decode()
    found = re.findall(r'^homing_sign_ins_total\{.*\bresult="(\w+)".*\} (\S+)$', page, re.MULTILINE)
    return {result: float(number) for result, number in found}


def test_sign_ins_are_counted_by_how_they_ended(settings: LazySettings) -> None:
    settings.LOGIN_FAILURES = 3
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    get_user_model().objects.create_user("edith", password="a long password", is_staff=True)
    tallies.take()

    def sign_in(name: str, password: str) -> None:
        fields = {"username": name, "password": password}
        Client().post("/admin/login/", fields, secure=True)

    assert counted() == {"right": 0, "wrong": 0, "refused": 0}
    sign_in("edith", "a long password")
    for _ in range(5):
        sign_in("nobody", "wrong")

    assert counted() == {"right": 1, "wrong": 3, "refused": 2}

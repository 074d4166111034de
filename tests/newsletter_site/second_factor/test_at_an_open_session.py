"""At an open session the second factor is changed with the password or a code alone."""

from __future__ import annotations

import re

import pytest
from django.conf import LazySettings
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from tests.newsletter_site.second_factor.a_browser import (
    PAGE,
    PASSWORD,
    Browser,
    code_now,
    time_goes_by,
)


def test_whoever_has_only_the_open_session_cannot_take_it_away(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(code_now())
    time_goes_by()
    for do in ("remove", "new-codes"):
        page = window.send(PAGE, do=do, proof="not it")
        assert "neither your password nor one of your codes" in page.content.decode()
    assert Browser().sign_in().status_code == 200


@pytest.fixture
def thief(codes: list[str], settings: LazySettings) -> Browser:
    """Somebody who has Edith's session, and neither her password nor the mark of her browser."""
    settings.LOGIN_FAILURES = 5
    settings.LOGIN_COOL_OFF_S = 600.0
    window = Browser()
    window.sign_in(code_now())
    return window.session_alone()


def test_guessing_at_an_open_session_counts_like_guessing_at_the_door(thief: Browser) -> None:
    answers = [thief.send(PAGE, do="remove", proof="wrong").status_code for _ in range(6)]
    assert answers == [200] * 5 + [429]
    assert thief.send(PAGE, do="remove", proof=PASSWORD).status_code == 429
    assert TOTPDevice.objects.exists()


def test_a_pause_between_codes_makes_no_guess_at_the_password_free(thief: Browser) -> None:
    # Of the shape of a recovery code, so that both are looked at; after the first codes pause.
    answers = [thief.send(PAGE, do="remove", proof="abcdefghjkmn").status_code for _ in range(6)]
    assert answers == [200] * 5 + [429]


@pytest.mark.parametrize("proof", ["app", "recovery"])
def test_its_owner_takes_it_away_with_a_code(codes: list[str], proof: str) -> None:
    window = Browser()
    window.sign_in(code_now())
    time_goes_by()
    given = {"app": code_now(), "recovery": codes[0]}[proof]
    assert window.send(PAGE, do="remove", proof=given)["Location"] == PAGE
    assert window.is_signed_in
    assert Browser().sign_in().status_code == 302
    assert not StaticToken.objects.exists()


def test_new_recovery_codes_make_the_old_ones_worthless(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(code_now())
    page = window.send(PAGE, do="new-codes", proof=PASSWORD).content.decode()
    fresh = re.findall(r"<li><code>(.+?)</code>", page)
    assert len(fresh) == 10
    assert not set(fresh) & set(codes)
    assert Browser().sign_in(codes[0]).status_code == 200
    time_goes_by()
    assert Browser().sign_in(fresh[0]).status_code == 302

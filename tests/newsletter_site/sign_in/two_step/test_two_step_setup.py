"""Authors set up two-step sign-in and turn it off, and settings can require it."""

import base64
import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db.models import F
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from newsletter_site.sign_in import two_step_devices
from tests.newsletter_site.sign_in.two_step.two_step_browser import (
    DESK,
    PAGE,
    PASSWORD,
    PICTURE,
    Browser,
    code_now,
    time_goes_by,
)


def test_set_up_shows_the_secret_then_ten_codes_once() -> None:
    window = Browser()
    window.sign_in()
    assert "Set up" in window.at(PAGE).content.decode()
    assert window.send(PAGE, do="begin", password_or_code=PASSWORD)["Location"] == PAGE
    page = window.at(PAGE).content.decode()
    secret = re.search(r'<code class="secret">(.+?)</code>', page)[1].replace(" ", "")
    assert base64.b32decode(secret) == TOTPDevice.objects.get().bin_key
    assert f'src="{PICTURE}"' in page
    shown = window.send(PAGE, do="confirm", code=code_now()).content.decode()
    codes = re.findall(r"<li><code>(.+?)</code>", shown)
    assert len(set(codes)) == 10
    afterwards = window.at(PAGE).content.decode()
    assert not any(code in afterwards for code in codes)
    assert secret not in afterwards.replace(" ", "")
    assert "You have 10 recovery codes left" in afterwards
    assert window.is_signed_in


def test_the_qr_code_has_no_script_and_is_not_cached() -> None:
    window = Browser()
    window.sign_in()
    assert window.at(PICTURE).status_code == 404
    window.send(PAGE, do="begin", password_or_code=PASSWORD)
    picture = window.at(PICTURE)
    assert picture["Content-Type"] == "image/svg+xml"
    assert "no-store" in picture["Cache-Control"]
    assert "no-store" in window.at(PAGE)["Cache-Control"]
    assert b"<svg" in picture.content
    assert b"style" not in picture.content
    assert b"script" not in picture.content
    assert Browser().at(PICTURE).status_code == 302
    # A wrong code does not turn two-step sign-in on. After the right code, the page no longer shows
    # the QR code.
    assert 'role="alert"' in window.send(PAGE, do="confirm", code="000000").content.decode()
    assert Browser().sign_in().status_code == 302
    time_goes_by()
    window.send(PAGE, do="confirm", code=code_now())
    assert window.at(PICTURE).status_code == 404
    assert window.is_signed_in


def test_set_up_needs_the_password(author: Any) -> None:
    window = Browser()
    window.sign_in()
    page = window.send(PAGE, do="begin", password_or_code="not it")
    assert "This is not your password" in page.content.decode()
    assert not TOTPDevice.objects.exists()


def test_set_up_ends_earlier_sessions() -> None:
    stolen, own = Browser(), Browser()
    stolen.sign_in()
    own.sign_in()
    assert stolen.is_signed_in
    own.send(PAGE, do="begin", password_or_code=PASSWORD)
    own.send(PAGE, do="confirm", code=code_now())
    assert own.is_signed_in
    assert not stolen.is_signed_in


def begun(window: Browser) -> str:
    """Start the set-up in this window, and return the code that the app shows."""
    window.sign_in()
    window.send(PAGE, do="begin", password_or_code=PASSWORD)
    return code_now()


def nothing_is_set_up_at(window: Browser, code: str) -> bool:
    """Check that the window shows no secret, and that the right code does nothing."""
    assert "secret" not in window.at(PAGE).content.decode()
    assert window.at(PICTURE).status_code == 404
    page = window.send(PAGE, do="confirm", code=code)
    assert "Start again" in page.content.decode()
    return not TOTPDevice.objects.filter(confirmed=True).exists()


def test_only_the_session_of_a_set_up_sees_the_secret() -> None:
    own, left_open = Browser(), Browser()
    left_open.sign_in()
    code = begun(own)
    assert nothing_is_set_up_at(left_open, code)
    assert "recovery codes" in own.send(PAGE, do="confirm", code=code).content.decode()


def test_a_set_up_expires_after_fifteen_minutes() -> None:
    window = Browser()
    code = begun(window)
    TOTPDevice.objects.update(created_at=F("created_at") - timedelta(minutes=15))
    assert nothing_is_set_up_at(window, code)


def test_a_new_password_ends_a_set_up() -> None:
    window = Browser()
    code = begun(window)
    window.send(
        "/admin/password_change/",
        old_password=PASSWORD,
        new_password1="swifts over the hedge",
        new_password2="swifts over the hedge",
    )
    assert nothing_is_set_up_at(window, code)


def test_setup_is_refused_while_two_step_sign_in_is_on(codes: list[str], author: Any) -> None:
    assert two_step_devices.start_setup(author) is None
    assert TOTPDevice.objects.get().confirmed


def test_an_open_session_alone_cannot_turn_it_off(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(code_now())
    time_goes_by()
    for do in ("remove", "new-codes"):
        page = window.send(PAGE, do=do, password_or_code="not it")
        assert "neither your password nor one of your codes" in page.content.decode()
    assert Browser().sign_in().status_code == 200


@pytest.fixture
def thief(codes: list[str], settings: LazySettings) -> Browser:
    """Return a browser with Edith's session, without the cookie of a known browser."""
    settings.AXES_FAILURE_LIMIT = 5
    settings.AXES_COOLOFF_TIME = timedelta(seconds=600)
    window = Browser()
    window.sign_in(code_now())
    return window.session_alone()


# The text “abcdefghjkmn” could be a password or a recovery code, so Homing checks both. A wrong
# code starts a pause, in which a further guess still counts as a failed sign-in.
@pytest.mark.parametrize("guess", ["wrong", "abcdefghjkmn"])
def test_guesses_at_an_open_session_count_as_failed_sign_ins(thief: Browser, guess: str) -> None:
    answers = [thief.send(PAGE, do="remove", password_or_code=guess) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
    assert thief.send(PAGE, do="remove", password_or_code=PASSWORD).status_code == 429
    assert TOTPDevice.objects.exists()


@pytest.mark.parametrize("password_or_code", ["app", "recovery"])
def test_owners_turn_two_step_off_with_a_code(codes: list[str], password_or_code: str) -> None:
    window = Browser()
    window.sign_in(code_now())
    time_goes_by()
    given = {"app": code_now(), "recovery": codes[0]}[password_or_code]
    assert window.send(PAGE, do="remove", password_or_code=given)["Location"] == PAGE
    assert window.is_signed_in
    assert Browser().sign_in().status_code == 302
    assert not StaticToken.objects.exists()


def test_new_recovery_codes_replace_the_old_ones(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(code_now())
    page = window.send(PAGE, do="new-codes", password_or_code=PASSWORD).content.decode()
    fresh = re.findall(r"<li><code>(.+?)</code>", page)
    assert len(fresh) == 10
    assert not set(fresh) & set(codes)
    assert Browser().sign_in(codes[0]).status_code == 200
    time_goes_by()
    assert Browser().sign_in(fresh[0]).status_code == 302


def test_required_set_up_closes_every_other_page(settings: LazySettings) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    window = Browser()
    window.sign_in()
    for address in ("/admin/", DESK, "/admin/newsletters/write/", "/admin/newsletter_site/user/"):
        assert window.at(address)["Location"] == PAGE
    refused = window.send("/admin/newsletters/", title="x")
    assert refused.status_code == 403
    assert "needs two-step sign-in" in refused.content.decode()
    assert "Every account on this site needs" in window.at(PAGE).content.decode()
    leaving = window.session_alone()
    assert leaving.send("/admin/logout/").status_code in {200, 302}
    assert leaving.at(PAGE).status_code == 302
    window.sign_in()
    window.send(PAGE, do="begin", password_or_code=PASSWORD)
    window.send(PAGE, do="confirm", code=code_now())
    assert window.is_signed_in


def test_the_check_for_required_set_up_costs_no_statement(
    settings: LazySettings, django_assert_num_queries: Any
) -> None:
    window = Browser()
    window.sign_in()
    window.at("/admin/password_change/")
    with django_assert_num_queries(2):  # one query for the session, one for its author
        window.at("/admin/password_change/")

"""With two-step sign-in, an author needs the password and a code that works once."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from tests.newsletter_site.sign_in.two_step.two_step_browser import (
    DESK,
    LOGIN,
    Browser,
    code_now,
    time_goes_by,
)
from tests.publishing.second_connection import at_once


def test_the_right_password_alone_gives_no_session(codes: list[str]) -> None:
    window = Browser()
    page = window.sign_in()
    assert page.status_code == 200
    assert "Enter your code" in page.content.decode()
    assert not window.is_signed_in
    # “Start again” leads back to the password.
    assert "Enter your code" in window.at(LOGIN).content.decode()
    assert "User name" in window.at(f"{LOGIN}?again").content.decode()
    assert "User name" in window.at(LOGIN).content.decode()
    # A code is not accepted before the password.
    assert window.send(LOGIN, code=code_now())["Location"] == LOGIN
    assert not window.is_signed_in


def test_password_and_code_sign_in_and_redirect_to_next(codes: list[str]) -> None:
    window = Browser()
    assert window.sign_in(code_now(), next=DESK)["Location"] == DESK
    assert window.is_signed_in
    for elsewhere in ("https://evil.example/", "//evil.example", "javascript:x"):
        time_goes_by()
        window = Browser()
        page = window.sign_in(next=elsewhere)
        answer = window.send(f"{LOGIN}?next={elsewhere}", code=code_now(), next=elsewhere)
        assert "evil" not in page.content.decode()
        assert answer["Location"] == "/admin/start/"


def test_two_step_is_not_revealed_before_the_right_password(codes: list[str]) -> None:
    get_user_model().objects.create_user("ines", password="another password", is_staff=True)
    pages = {
        re.sub(
            rf'value="{name}"|name="csrfmiddlewaretoken" value=".*?"',
            "",
            Browser().send(LOGIN, username=name, password="wrong").content.decode(),
        )
        for name in ("edith", "ines", "nobody")
    }
    assert len(pages) == 1


def test_a_new_password_ends_the_wait_for_a_code(codes: list[str], author: Any) -> None:
    window = Browser()
    window.sign_in()
    author.refresh_from_db()
    author.set_password("quite another one")
    author.save()
    assert window.send(LOGIN, code=code_now())["Location"] == LOGIN
    assert not window.is_signed_in


def test_lost_staff_status_ends_the_wait_for_a_code(codes: list[str], author: Any) -> None:
    window = Browser()
    window.sign_in()
    get_user_model().objects.update(is_staff=False)
    assert window.send(LOGIN, code=code_now())["Location"] == LOGIN


def test_a_code_of_either_kind_works_once(codes: list[str]) -> None:
    code = code_now()
    assert Browser().sign_in(code).status_code == 302
    assert Browser().sign_in(code).status_code != 302
    time_goes_by()
    assert Browser().sign_in(codes[0]).status_code == 302
    assert Browser().sign_in(codes[0]).status_code == 200
    time_goes_by()
    assert Browser().sign_in(f" {codes[1].replace('-', ' ').upper()} ").status_code == 302
    assert StaticToken.objects.count() == 8


def test_secrets_and_recovery_codes_cannot_be_read(codes: list[str]) -> None:
    stored = [row.token for row in StaticToken.objects.all()]
    window = Browser()
    window.sign_in(code_now())
    assert not {code.replace("-", "") for code in codes} & set(stored)
    for address in ("otp_totp/totpdevice/", "otp_static/staticdevice/", "axes/accessattempt/"):
        assert window.at(f"/admin/{address}").status_code == 404
    person = f"/admin/newsletter_site/user/{get_user_model().objects.get().pk}/change/"
    key = TOTPDevice.objects.get().key
    for address in ("/admin/", "/admin/newsletter_site/user/", person):
        assert key not in window.at(address).content.decode()


def test_wrong_codes_count_as_failed_sign_ins(codes: list[str], settings: LazySettings) -> None:
    settings.AXES_FAILURE_LIMIT = 5
    settings.AXES_COOLOFF_TIME = timedelta(seconds=600)
    window = Browser()
    window.sign_in()
    answers = []
    for _ in range(6):
        time_goes_by()
        answers.append(window.send(LOGIN, code="000000").status_code)
    assert answers == [200] * 4 + [429] * 2
    time_goes_by()
    assert window.send(LOGIN, code=code_now()).status_code == 429
    assert not window.is_signed_in


def test_the_right_password_alone_resets_no_failures(
    codes: list[str], settings: LazySettings
) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    settings.AXES_COOLOFF_TIME = timedelta(seconds=600)
    for status in (200, 200, 429):
        time_goes_by()
        window = Browser()
        assert window.sign_in("000000").status_code == status
    assert Browser().sign_in().status_code == 429


@pytest.mark.parametrize("wrong", ["000000", "abcd-efgh-jkmn"])
def test_no_pause_between_codes_is_longer_than_seventeen_minutes(
    codes: list[str], wrong: str
) -> None:
    for devices in (TOTPDevice.objects, StaticDevice.objects):
        devices.update(throttling_failure_count=40)
    window = Browser()
    window.sign_in()
    assert window.send(LOGIN, code=wrong).status_code == 200
    page = window.send(LOGIN, code=wrong)
    assert page.status_code == 429
    assert 900 < int(page["Retry-After"]) <= 1024
    assert "someone else knows your password" in page.content.decode()


def test_unblocking_ends_pauses_but_still_needs_a_code(codes: list[str]) -> None:
    TOTPDevice.objects.update(throttling_failure_count=5)
    window = Browser()
    window.sign_in("000000")
    page = window.send(LOGIN, code=code_now())
    assert page.status_code == 429
    assert int(page["Retry-After"]) > 20
    assert "After a wrong code there is a pause" in page.content.decode()
    call_command("unblock_sign_in", "edith")
    assert not window.is_signed_in
    assert window.send(LOGIN, code=code_now()).status_code == 302


@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_one_code_sent_twice_at_once_signs_in_once(codes: list[str], kind: str) -> None:
    code = code_now() if kind == "app" else codes[0]
    windows = [Browser(), Browser()]
    for window in windows:
        window.sign_in()

    answers = at_once(*(lambda w=w: w.send(LOGIN, code=code).status_code for w in windows))
    assert answers.count(302) == 1

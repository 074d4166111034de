"""Whoever set up a second factor signs in with the password and a code, and nobody without."""

from __future__ import annotations

import base64
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

LOGIN = "/admin/login/"
PAGE = "/admin/second-factor/"
PICTURE = f"{PAGE}code.svg"
PASSWORD = "a long password"
DESK = "/admin/newsletters/issues/"


@pytest.fixture(autouse=True)
def author(transactional_db: None, settings: LazySettings) -> Any:
    """Edith, who may do everything; passwords are hashed fast here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return get_user_model().objects.create_superuser("edith", password=PASSWORD)


class Browser(Client):
    """A browser over https."""

    def at(self, address: str) -> Any:
        return self.get(address, secure=True)

    def send(self, address: str, **fields: str) -> Any:
        return self.post(address, fields, secure=True)

    def sign_in(self, code: str = "", **fields: str) -> Any:
        """Password, and the code where it is asked for."""
        answer = self.send(LOGIN, username="edith", password=PASSWORD, **fields)
        return self.send(LOGIN, code=code, **fields) if code else answer

    @property
    def is_signed_in(self) -> bool:
        return self.at(DESK).status_code == 200


def code_now(steps: int = 0) -> str:
    """What the app of Edith's newest device shows, or will show some half minutes on."""
    device = TOTPDevice.objects.order_by("pk").last()
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time() + steps * device.step
    return f"{totp.token():06d}"


def time_goes_by() -> None:
    """The code that was used last is an old one, and pauses after wrong codes are over."""
    TOTPDevice.objects.update(last_t=-1, throttling_failure_timestamp=None)
    StaticDevice.objects.update(throttling_failure_timestamp=None)


@pytest.fixture
def codes(author: Any) -> list[str]:
    """Edith has a second factor; these are her recovery codes."""
    window = Browser()
    window.sign_in()
    window.send(PAGE, do="begin", proof=PASSWORD)
    page = window.send(PAGE, do="confirm", code=code_now())
    time_goes_by()
    return re.findall(r"<li><code>(.+?)</code>", page.content.decode())


def test_setting_it_up_shows_picture_and_secret_and_then_ten_codes_once() -> None:
    window = Browser()
    window.sign_in()
    assert "Set it up" in window.at(PAGE).content.decode()

    assert window.send(PAGE, do="begin", proof=PASSWORD)["Location"] == PAGE
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


def test_the_picture_is_drawn_without_styles_or_scripts_and_kept_nowhere() -> None:
    window = Browser()
    window.sign_in()
    assert window.at(PICTURE).status_code == 404
    window.send(PAGE, do="begin", proof=PASSWORD)

    picture = window.at(PICTURE)

    assert picture["Content-Type"] == "image/svg+xml"
    assert "no-store" in picture["Cache-Control"]
    assert "no-store" in window.at(PAGE)["Cache-Control"]
    assert b"<svg" in picture.content
    assert b"style" not in picture.content
    assert b"script" not in picture.content
    assert Browser().at(PICTURE).status_code == 302


def test_the_picture_is_gone_once_it_is_set_up(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(code_now())

    assert window.is_signed_in
    assert window.at(PICTURE).status_code == 404


def test_it_is_not_begun_without_the_password(author: Any) -> None:
    window = Browser()
    window.sign_in()

    page = window.send(PAGE, do="begin", proof="not it")

    assert "This is not your password" in page.content.decode()
    assert not TOTPDevice.objects.exists()


def test_it_is_not_switched_on_by_a_wrong_code(author: Any) -> None:
    window = Browser()
    window.sign_in()
    window.send(PAGE, do="begin", proof=PASSWORD)

    page = window.send(PAGE, do="confirm", code="000000")

    assert 'role="alert"' in page.content.decode()
    assert not TOTPDevice.objects.filter(confirmed=True).exists()
    assert Browser().sign_in().status_code == 302


def test_the_right_password_alone_gives_no_session(codes: list[str]) -> None:
    window = Browser()

    page = window.sign_in()

    assert page.status_code == 200
    assert "Your code" in page.content.decode()
    assert not window.is_signed_in


def test_password_and_code_sign_in_and_lead_where_one_wanted_to_go(codes: list[str]) -> None:
    window = Browser()

    answer = window.sign_in(code_now(), next=DESK)

    assert answer["Location"] == DESK
    assert window.is_signed_in


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_neither_step_leads_to_another_site(codes: list[str], elsewhere: str) -> None:
    window = Browser()
    page = window.sign_in(next=elsewhere)
    answer = window.send(f"{LOGIN}?next={elsewhere}", code=code_now(), next=elsewhere)

    assert "evil" not in page.content.decode()
    assert answer["Location"] == "/admin/"


def test_nothing_tells_who_has_one_before_the_password_was_right(codes: list[str]) -> None:
    get_user_model().objects.create_user("ines", password="another password", is_staff=True)

    with_one = Browser().send(LOGIN, username="edith", password="wrong").content.decode()
    without = Browser().send(LOGIN, username="ines", password="wrong").content.decode()
    nobody = Browser().send(LOGIN, username="nobody", password="wrong").content.decode()

    def plain(page: str) -> str:
        page = re.sub(r'value="(edith|ines|nobody)"', "", page)
        return re.sub(r'name="csrfmiddlewaretoken" value=".*?"', "", page)

    assert plain(with_one) == plain(without) == plain(nobody)


def test_a_code_is_good_for_once(codes: list[str]) -> None:
    code = code_now()
    assert Browser().sign_in(code).status_code == 302

    assert Browser().sign_in(code).status_code != 302


def test_of_two_who_send_one_recovery_code_at_once_one_gets_in(codes: list[str]) -> None:
    windows = [Browser(), Browser()]
    for window in windows:
        window.sign_in()

    def send(window: Browser) -> int:
        try:
            return int(window.send(LOGIN, code=codes[0]).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(send, windows))

    assert answers.count(302) == 1


def test_a_recovery_code_signs_in_once_however_it_is_typed(codes: list[str]) -> None:
    assert Browser().sign_in(codes[0]).status_code == 302
    assert Browser().sign_in(codes[0]).status_code == 200
    time_goes_by()

    assert Browser().sign_in(f" {codes[1].replace('-', ' ').upper()} ").status_code == 302
    assert StaticToken.objects.count() == 8


def test_no_recovery_code_and_no_secret_stands_anywhere_to_be_read(codes: list[str]) -> None:
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


def test_wrong_codes_count_as_failed_sign_ins_and_end_in_a_wait(
    codes: list[str], settings: LazySettings
) -> None:
    settings.LOGIN_FAILURES = 5
    settings.LOGIN_COOL_OFF_S = 600.0
    window = Browser()
    window.sign_in()
    answers = []
    for _ in range(6):
        time_goes_by()
        answers.append(window.send(LOGIN, code="000000").status_code)

    assert answers == [200] * 5 + [429]
    time_goes_by()
    assert window.send(LOGIN, code=code_now()).status_code == 429
    assert not window.is_signed_in


def test_after_a_wrong_code_the_next_is_looked_at_only_after_a_pause(codes: list[str]) -> None:
    window = Browser()
    window.sign_in()
    TOTPDevice.objects.update(throttling_failure_count=5)
    assert window.send(LOGIN, code="000000").status_code == 200

    page = window.send(LOGIN, code=code_now())

    assert page.status_code == 429
    assert int(page["Retry-After"]) > 20
    assert "only after a pause" in page.content.decode()
    assert not window.is_signed_in


def test_the_right_password_does_not_free_a_name_of_its_failures(
    codes: list[str], settings: LazySettings
) -> None:
    settings.LOGIN_FAILURES = 3
    settings.LOGIN_COOL_OFF_S = 600.0
    for _ in range(3):
        time_goes_by()
        window = Browser()
        assert window.sign_in("000000").status_code == 200

    assert Browser().sign_in().status_code == 429


def test_a_code_without_a_password_before_it_is_worth_nothing(codes: list[str]) -> None:
    window = Browser()

    answer = window.send(LOGIN, code=code_now())

    assert answer["Location"] == LOGIN
    assert not window.is_signed_in


def test_who_changes_the_password_meanwhile_ends_the_waiting_for_a_code(
    codes: list[str], author: Any
) -> None:
    window = Browser()
    window.sign_in()
    author.refresh_from_db()
    author.set_password("quite another one")
    author.save()

    assert window.send(LOGIN, code=code_now())["Location"] == LOGIN
    assert not window.is_signed_in


def test_who_lost_staff_status_meanwhile_is_not_signed_in(codes: list[str], author: Any) -> None:
    window = Browser()
    window.sign_in()
    get_user_model().objects.update(is_staff=False)

    assert window.send(LOGIN, code=code_now())["Location"] == LOGIN


def test_begin_again_leads_back_to_the_password(codes: list[str]) -> None:
    window = Browser()
    window.sign_in()
    assert "Your code" in window.at(LOGIN).content.decode()

    assert "User name" in window.at(f"{LOGIN}?again").content.decode()
    assert "User name" in window.at(LOGIN).content.decode()


def test_sessions_of_before_it_was_set_up_do_not_survive_it() -> None:
    stolen, own = Browser(), Browser()
    stolen.sign_in()
    own.sign_in()
    assert stolen.is_signed_in

    own.send(PAGE, do="begin", proof=PASSWORD)
    own.send(PAGE, do="confirm", code=code_now())

    assert own.is_signed_in
    assert not stolen.is_signed_in


def test_whoever_has_only_the_open_session_cannot_take_it_away(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(code_now())
    time_goes_by()

    for do in ("remove", "new-codes"):
        page = window.send(PAGE, do=do, proof="not it")
        assert "neither your password nor one of your codes" in page.content.decode()
    assert Browser().sign_in().status_code == 200


def test_guessing_at_an_open_session_counts_like_guessing_at_the_door(
    codes: list[str], settings: LazySettings
) -> None:
    settings.LOGIN_FAILURES = 5
    settings.LOGIN_COOL_OFF_S = 600.0
    window = Browser()
    window.sign_in(code_now())
    thief = Browser()  # who has the session, and not the mark of the browser
    thief.cookies["sessionid"] = window.cookies["sessionid"].value

    answers = [thief.send(PAGE, do="remove", proof="wrong").status_code for _ in range(6)]

    assert answers == [200] * 5 + [429]
    assert thief.send(PAGE, do="remove", proof=PASSWORD).status_code == 429
    assert TOTPDevice.objects.exists()


def test_a_pause_between_codes_makes_no_guess_at_the_password_free(
    codes: list[str], settings: LazySettings
) -> None:
    settings.LOGIN_FAILURES = 5
    settings.LOGIN_COOL_OFF_S = 600.0
    window = Browser()
    window.sign_in(code_now())

    thief = Browser()  # who has the session, and not the mark of the browser
    thief.cookies["sessionid"] = window.cookies["sessionid"].value

    # Of the shape of a recovery code, so that both are looked at; after the first codes pause.
    answers = [thief.send(PAGE, do="remove", proof="abcdefghjkmn").status_code for _ in range(6)]

    assert answers == [200] * 5 + [429]


@pytest.mark.parametrize("proof", ["password", "app", "recovery"])
def test_its_owner_takes_it_away_with_the_password_or_a_code(codes: list[str], proof: str) -> None:
    window = Browser()
    window.sign_in(code_now())
    time_goes_by()
    given = {"password": PASSWORD, "app": code_now(), "recovery": codes[0]}[proof]

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


def test_an_operator_takes_it_away_from_whoever_lost_everything(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(code_now())

    call_command("remove_second_factor", "edith")

    assert not window.is_signed_in
    assert Browser().sign_in().status_code == 302
    with pytest.raises(CommandError, match="has no second factor"):
        call_command("remove_second_factor", "edith")
    with pytest.raises(CommandError, match="no author"):
        call_command("remove_second_factor", "nobody")


def test_what_is_done_with_it_stands_in_the_log(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(codes[0])
    window.send(PAGE, do="new-codes", proof=PASSWORD)
    window.send(PAGE, do="remove", proof=PASSWORD)

    said = list(LogEntry.objects.order_by("pk").values_list("change_message", flat=True))
    assert [words.partition(",")[0] for words in said] == [
        "Signed in from a browser that was not known yet",
        "Set up a second factor.",
        "Signed in from a browser that was not known yet",
        "Made new recovery codes.",
        "Took the second factor away.",
    ]
    assert "with a recovery code" in said[2]


def test_where_it_is_demanded_whoever_has_none_sees_no_other_page(
    settings: LazySettings,
) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    window = Browser()
    window.sign_in()

    for address in ("/admin/", DESK, "/admin/newsletters/write/", "/admin/newsletter_site/user/"):
        assert window.at(address)["Location"] == PAGE
    refused = window.send("/admin/newsletters/", title="x")
    assert refused.status_code == 403
    assert "second factor" in refused.content.decode()
    assert "asked of everybody here" in window.at(PAGE).content.decode()

    window.send(PAGE, do="begin", proof=PASSWORD)
    window.send(PAGE, do="confirm", code=code_now())
    assert window.is_signed_in


def test_where_it_is_demanded_one_can_still_sign_out(settings: LazySettings) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    window = Browser()
    window.sign_in()

    assert window.send("/admin/logout/").status_code in {200, 302}
    assert window.at(PAGE).status_code == 302


def test_asking_whether_a_code_is_demanded_costs_a_page_no_statement(
    settings: LazySettings, django_assert_num_queries: Any
) -> None:
    window = Browser()
    window.sign_in()
    window.at("/admin/password_change/")
    with django_assert_num_queries(2):  # the session, and its author
        window.at("/admin/password_change/")

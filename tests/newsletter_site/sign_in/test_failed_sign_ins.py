"""Failed sign-ins are counted for a name in a network, for a network, and for a known browser."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.capture_log import log_lines
from tests.publishing.second_connection import at_once

LOGIN = "/admin/login/"
RIGHT = "a long password"


class CountedHasher(MD5PasswordHasher):
    """Counts how often a password was hashed; verifying one hashes it."""

    hashed = 0

    def encode(self, password: str, salt: str) -> str:
        type(self).hashed += 1
        return super().encode(password, salt)


@pytest.fixture(autouse=True)
def author(transactional_db: None, settings: LazySettings) -> Any:
    """Edith, who may sign in; failures are borne five times, then waits are long."""
    settings.LOGIN_FAILURES = 5
    settings.LOGIN_COOL_OFF_S = 600.0
    settings.PASSWORD_HASHERS = [f"{__name__}.CountedHasher"]
    author = get_user_model().objects.create_user("edith", password=RIGHT, is_staff=True)
    CountedHasher.hashed = 0
    return author


def sign_in(
    password: str, name: str = "edith", browser: Client | None = None, address: str = "203.0.113.7"
) -> Any:
    """Post the form; every browser is a fresh one unless one is given."""
    return (browser or Client()).post(
        LOGIN, {"username": name, "password": password}, secure=True, REMOTE_ADDR=address
    )


def fail(times: int, **how: Any) -> None:
    for _ in range(times):
        assert sign_in("wrong", **how).status_code == 200


def fail_for_many_names(settings: LazySettings) -> None:
    """As many failures as a whole network has, no two of them for one name."""
    settings.LOGIN_FAILURES = 2
    for number in range(20):
        assert sign_in("wrong", name=f"name {number}").status_code == 200


def mark_in(browser: Client) -> str:
    """The name of the cookie by which a browser is known."""
    (name,) = (one for one in browser.cookies if one.startswith("browser_"))
    return name


def operators_link(capsys: pytest.CaptureFixture[str]) -> str:
    """The way in that an operator gives to Edith."""
    call_command("let_in", "edith")
    link = capsys.readouterr().out.strip().splitlines()[-1]
    return link.removeprefix("https://letter.example.org")


def waits_are_over() -> None:
    """Sixteen times the first wait and a little go by."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE axes_accessattempt SET attempt_time = attempt_time - interval '3 hours'"
        )


def test_the_right_password_during_a_wait_gives_no_session_and_no_hint() -> None:
    fail(5)
    wrong, right = sign_in("wrong"), sign_in(RIGHT)
    assert wrong.status_code == right.status_code == 429
    assert 590 <= int(wrong["Retry-After"]) <= 600
    assert wrong["Cache-Control"] == "no-store"
    assert right.content == wrong.content
    assert set(right.cookies) == set(wrong.cookies)
    assert not Session.objects.exists()


def test_a_name_that_nobody_has_is_answered_alike_at_every_step() -> None:
    answers = {
        name: [sign_in("wrong", name=name, address=address) for _ in range(7)]
        for name, address in (("edith", "203.0.113.7"), ("nobody", "198.51.100.7"))
    }
    known, unknown = answers.values()
    assert [page.status_code for page in known] == [200] * 5 + [429] * 2
    assert [page.status_code for page in unknown] == [page.status_code for page in known]
    assert unknown[-1].content == known[-1].content


def test_as_much_is_hashed_for_a_name_that_nobody_has_and_nothing_during_a_wait() -> None:
    fail(5)
    assert CountedHasher.hashed == 5
    sign_in("wrong")
    sign_in(RIGHT)
    assert CountedHasher.hashed == 5
    fail(1, name="nobody")
    assert CountedHasher.hashed == 6


def test_what_is_tried_during_a_wait_makes_it_no_longer() -> None:
    fail(5)
    attempts = AccessAttempt.objects.order_by("pk").values_list("attempt_time", flat=True)
    before = list(attempts)
    for _ in range(20):
        assert sign_in("wrong").status_code == 429
    assert list(attempts.all()) == before


def test_a_clock_that_was_set_back_makes_a_wait_no_longer_from_the_next_try_on() -> None:
    fail(5)
    ahead = AccessAttempt.objects.filter(failures_since_start=5)
    ahead.update(attempt_time=F("attempt_time") + timedelta(hours=1))
    assert sign_in(RIGHT).status_code == 429
    ahead.update(attempt_time=F("attempt_time") - timedelta(seconds=600))
    assert sign_in(RIGHT).status_code == 302


@pytest.mark.parametrize(("is_known", "statements"), [(False, 9), (True, 5)])
def test_counting_costs_a_sign_in_as_many_statements_as_the_record_says(
    is_known: bool, statements: int
) -> None:
    browser = Client()
    if is_known:
        assert sign_in(RIGHT, browser=browser).status_code == 302
    with CaptureQueriesContext(connection) as asked:
        assert sign_in(RIGHT, browser=browser).status_code == 302
    of_counting = [
        one["sql"] for one in asked if re.search("axes_accessattempt|otp_totp", one["sql"])
    ]
    assert len(of_counting) == statements, of_counting


def test_after_the_wait_another_failure_makes_the_next_wait_longer() -> None:
    fail(5)
    waits_are_over()
    fail(1)
    page = sign_in(RIGHT)
    assert page.status_code == 429
    assert int(page["Retry-After"]) > 1100


@pytest.mark.parametrize(
    ("one", "neighbour", "elsewhere"),
    [
        ("203.0.113.7", "203.0.113.200", "198.51.100.7"),
        ("2001:db8:1:2::7", "2001:db8:1:ffff::1", "2001:db8:2::7"),
    ],
)
def test_failures_from_one_network_leave_every_other_network_alone(
    one: str, neighbour: str, elsewhere: str
) -> None:
    fail(5, address=one)
    assert sign_in(RIGHT, address=neighbour).status_code == 429
    assert sign_in(RIGHT, address=elsewhere).status_code == 302


def test_a_network_that_tries_name_after_name_waits_after_ten_times_as_many(
    settings: LazySettings,
) -> None:
    fail_for_many_names(settings)
    assert sign_in(RIGHT).status_code == 429
    assert sign_in(RIGHT, address="198.51.100.7").status_code == 302


def test_somebody_with_an_account_does_not_free_their_network_by_signing_in(
    settings: LazySettings,
) -> None:
    settings.LOGIN_FAILURES = 2
    get_user_model().objects.create_user("mallory", password=RIGHT, is_staff=True)
    for number in range(20):
        assert sign_in("wrong", name=f"name {number}").status_code == 200
        if number % 5 == 0:
            assert sign_in(RIGHT, name="mallory").status_code == 302
    assert sign_in("wrong", name="one more").status_code == 429


def test_a_browser_in_which_the_author_signed_in_before_is_let_in_whatever_others_tried() -> None:
    own = Client()
    assert sign_in(RIGHT, browser=own).status_code == 302
    own.post("/admin/logout/", secure=True)
    fail(5)
    assert sign_in(RIGHT).status_code == 429
    assert sign_in(RIGHT, browser=own).status_code == 302


def test_the_mark_of_a_browser_is_for_one_author_alone() -> None:
    get_user_model().objects.create_user("mallory", password=RIGHT, is_staff=True)
    mallorys, own = Client(), Client()
    assert sign_in(RIGHT, name="mallory", browser=mallorys).status_code == 302
    sign_in(RIGHT, browser=own)
    edith, mallory = mark_in(own), mark_in(mallorys)
    assert edith != mallory
    fail(5)
    made_up = ("", "made up", "WyJhIiwiYiJd:1:abc", "\x00")
    for value in (mallorys.cookies[mallory].value, *made_up):
        forged = Client()
        forged.cookies[edith] = value
        assert sign_in(RIGHT, browser=forged).status_code == 429, value


def test_the_mark_is_signed_for_the_sign_in_page_and_out_of_reach_of_scripts(
    settings: LazySettings,
) -> None:
    own = Client()
    sign_in(RIGHT, browser=own)
    mark = own.cookies[mark_in(own)]
    assert (mark["httponly"], mark["secure"], mark["samesite"]) == (True, True, "Lax")
    # The page of the second factor asks for the password too.
    assert mark["path"] == "/admin/"
    assert reverse("second_factor").startswith(mark["path"])
    assert mark["max-age"] == 365 * 24 * 3600
    assert "edith" not in mark.OutputString()
    before = mark.value
    sign_in(RIGHT, browser=own)
    assert own.cookies[mark_in(own)].value != before


def test_a_stolen_mark_has_so_many_tries_and_does_not_shut_its_author_out() -> None:
    own, thief = Client(), Client()
    sign_in(RIGHT, browser=own)
    name = mark_in(own)
    thief.cookies[name] = own.cookies[name].value
    fail(10, browser=thief, address="198.51.100.7")  # five for the mark, five for the network
    assert sign_in("wrong", browser=thief, address="198.51.100.7").status_code == 429
    assert sign_in(RIGHT, browser=own).status_code == 302


def test_signing_in_forgets_the_failures_before_it() -> None:
    fail(4)
    assert sign_in(RIGHT).status_code == 302
    fail(5)
    waits_are_over()
    assert sign_in(RIGHT).status_code == 302
    fail(5)


def test_of_many_that_come_at_once_no_more_are_looked_at_than_there_are_to_spare() -> None:
    answers = at_once(*[lambda: sign_in("wrong").status_code] * 16)
    assert sorted(answers) == [200] * 5 + [429] * 11
    assert CountedHasher.hashed == 5


def test_nothing_that_was_typed_is_stored_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    typed = "my-password-in-the-wrong-field"
    fail(5, name=typed)
    assert sign_in("another-secret", name=typed).status_code == 429
    fail(1)
    assert sign_in(RIGHT).status_code == 302
    stored = "".join(str(row) for row in AccessAttempt.objects.values_list())
    for secret in (typed, "another-secret", RIGHT, "edith"):
        assert secret not in stored
    logged = "".join(
        f"{record.getMessage()} {vars(record)}"
        for record in caplog.records
        if record.name.startswith(("axes", "newsletter_site"))
    )
    assert logged
    for secret in (typed, "another-secret", RIGHT):
        assert secret not in logged
    assert not AccessLog.objects.exists()
    assert not AccessFailureLog.objects.exists()


def test_the_log_tells_of_signing_in_and_out_of_failures_and_of_waits(author: Any) -> None:
    with log_lines() as lines:
        fail(5)
        sign_in("wrong")
        fail(1, name="nobody-here")
        own = Client()
        sign_in(RIGHT, browser=own, address="198.51.100.7")
        own.post("/admin/logout/", secure=True)
    told = [line for line in lines() if re.match(r"(a sign-in|somebody signed)", line["event"])]
    assert [re.sub(r"\d+ s", "N s", line["event"]) for line in told] == [
        *["a sign-in failed"] * 4,
        "a sign-in failed, and the next one has to wait N s",
        "a sign-in was refused unread: it has to wait N s",
        "a sign-in failed of nobody's",
        "somebody signed in",
        "somebody signed out",
    ]
    whose = [line.get("author") for line in told]
    assert whose == [str(author.pk)] * 5 + [None, None] + [str(author.pk)] * 2
    assert not any("203.0.113" in json.dumps(line) for line in told)


def test_letting_in_promises_no_sign_in_where_the_whole_network_has_to_wait(
    capsys: pytest.CaptureFixture[str], settings: LazySettings
) -> None:
    fail_for_many_names(settings)
    call_command("let_in", "edith")
    assert sign_in(RIGHT).status_code == 429
    said, way = capsys.readouterr().out.split("https://letter.example.org")
    assert "If they have to wait all the same" in said
    own = Client()
    own.get(way.strip(), secure=True)
    assert sign_in(RIGHT, browser=own).status_code == 302


def test_the_operators_link_lets_an_author_try_in_peace_while_others_go_on_guessing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    way_in = operators_link(capsys)
    fail(5)
    own = Client()
    way = own.get(way_in, secure=True)
    assert way["Location"] == LOGIN
    assert Client().get(f"{LOGIN}known/made-up/", secure=True).status_code == 410
    assert sign_in(RIGHT).status_code == 429
    assert "sessionid" not in own.cookies
    assert sign_in(RIGHT, browser=own).status_code == 302


def test_however_often_the_operators_link_is_opened_there_is_one_count_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    way_in = operators_link(capsys)
    fail(5)
    first, second = Client(), Client()
    first.get(way_in, secure=True)
    second.get(way_in, secure=True)
    fail(3, browser=first)
    fail(2, browser=second)
    assert sign_in("wrong", browser=first).status_code == 429


def test_an_operator_lets_an_author_in_at_once_and_nobody_else(author: Any) -> None:
    fail(5)
    call_command("let_in", "edith")
    assert sign_in(RIGHT).status_code == 302
    with pytest.raises(CommandError, match="no author with the user name 'nobody'"):
        call_command("let_in", "nobody")
    author.is_staff = False
    author.save()
    with pytest.raises(CommandError, match="staff status"):
        call_command("let_in", "edith")

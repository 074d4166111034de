"""Failed sign-ins are counted for a name in a network, for a network, and for a known browser."""

from __future__ import annotations

import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from newsletter_site.logs.lines import LineFormatter

LOGIN = "/admin/login/"
RIGHT = "a long password"


class CountedHasher(Argon2PasswordHasher):
    """Counts how often a password was hashed."""

    hashed = 0

    def encode(self, password: str, salt: str) -> str:
        type(self).hashed += 1
        return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        type(self).hashed += 1
        return super().verify(password, encoded)


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
    """Try a wrong password so often, each one looked at."""
    for _ in range(times):
        assert sign_in("wrong", **how).status_code == 200


def waits_are_over() -> None:
    """Sixteen times the first wait and a little go by."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE axes_accessattempt SET attempt_time = attempt_time - interval '3 hours'"
        )


def test_after_five_failures_the_next_try_is_told_when_to_come_again() -> None:
    fail(5)

    page = sign_in("wrong")

    assert page.status_code == 429
    assert 590 <= int(page["Retry-After"]) <= 600
    assert page["Cache-Control"] == "no-store"
    assert b"Try again in 10 minutes." in page.content
    assert b"homing.css" in page.content


def test_the_right_password_during_a_wait_gives_no_session_and_no_hint() -> None:
    fail(5)

    wrong, right = sign_in("wrong"), sign_in(RIGHT)

    assert right.status_code == 429
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
    before = AccessAttempt.objects.order_by("pk").values_list("attempt_time", flat=True)
    told = list(before)

    for _ in range(20):
        assert sign_in("wrong").status_code == 429

    assert list(before.all()) == told


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


def test_after_the_wait_one_try_is_looked_at_and_the_right_password_signs_in() -> None:
    fail(5)
    waits_are_over()

    assert sign_in(RIGHT).status_code == 302
    fail(5)


def test_after_the_wait_another_failure_makes_the_next_wait_longer() -> None:
    fail(5)
    waits_are_over()
    fail(1)

    page = sign_in(RIGHT)

    assert page.status_code == 429
    assert int(page["Retry-After"]) > 1100


def test_failures_from_one_network_leave_every_other_network_alone() -> None:
    fail(5)
    assert sign_in(RIGHT, address="203.0.113.200").status_code == 429

    assert sign_in(RIGHT, address="198.51.100.7").status_code == 302


def test_a_network_of_ipv6_counts_together_and_another_does_not() -> None:
    fail(5, address="2001:db8:1:2::7")

    assert sign_in(RIGHT, address="2001:db8:1:ffff::1").status_code == 429
    assert sign_in(RIGHT, address="2001:db8:2::7").status_code == 302


def test_behind_a_proxy_the_network_is_the_one_that_the_proxy_told(settings: LazySettings) -> None:
    settings.TRUST_PROXY = True

    def from_there(password: str, told: str) -> int:
        return (
            Client()
            .post(
                LOGIN,
                {"username": "edith", "password": password},
                secure=True,
                REMOTE_ADDR="127.0.0.1",
                HTTP_X_FORWARDED_FOR=told,
            )
            .status_code
        )

    for number in range(5):
        assert from_there("wrong", f"192.0.2.{number}, 203.0.113.7") == 200

    assert from_there(RIGHT, "192.0.2.99, 203.0.113.7") == 429
    assert from_there(RIGHT, "203.0.113.7, 198.51.100.7") == 302


def test_a_network_that_tries_name_after_name_waits_after_ten_times_as_many() -> None:
    for number in range(50):
        assert sign_in("wrong", name=f"name {number}").status_code == 200

    assert sign_in(RIGHT).status_code == 429
    assert sign_in(RIGHT, address="198.51.100.7").status_code == 302


def test_somebody_with_an_account_does_not_free_their_network_by_signing_in() -> None:
    get_user_model().objects.create_user("mallory", password=RIGHT, is_staff=True)
    for number in range(50):
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
    mallorys = Client()
    assert sign_in(RIGHT, name="mallory", browser=mallorys).status_code == 302
    (cookie,) = (one for one in mallorys.cookies if one.startswith("browser_"))
    own = Client()
    sign_in(RIGHT, browser=own)
    (edith,) = (one for one in own.cookies if one.startswith("browser_"))
    forged = Client()
    forged.cookies[edith] = mallorys.cookies[cookie].value
    fail(5)

    assert edith != cookie
    assert sign_in(RIGHT, browser=forged).status_code == 429


@pytest.mark.parametrize("value", ["", "made up", "WyJhIiwiYiJd:1:abc", "\x00"])
def test_a_mark_that_was_made_up_is_none(value: str) -> None:
    own = Client()
    sign_in(RIGHT, browser=own)
    (name,) = (one for one in own.cookies if one.startswith("browser_"))
    forged = Client()
    forged.cookies[name] = value
    fail(5)

    assert sign_in(RIGHT, browser=forged).status_code == 429


def test_the_mark_is_signed_for_the_sign_in_page_and_out_of_reach_of_scripts(
    settings: LazySettings,
) -> None:
    own = Client()
    sign_in(RIGHT, browser=own)
    (mark,) = (own.cookies[one] for one in own.cookies if one.startswith("browser_"))

    assert mark["httponly"]
    assert mark["secure"]
    assert mark["samesite"] == "Lax"
    # The page of the second factor asks for the password too.
    assert mark["path"] == "/admin/"
    assert reverse("second_factor").startswith(mark["path"])
    assert mark["max-age"] == 365 * 24 * 3600
    assert "edith" not in mark.OutputString()


def test_a_stolen_mark_has_so_many_tries_and_does_not_shut_its_author_out() -> None:
    own, thief = Client(), Client()
    sign_in(RIGHT, browser=own)
    (name,) = (one for one in own.cookies if one.startswith("browser_"))
    thief.cookies[name] = own.cookies[name].value

    fail(10, browser=thief, address="198.51.100.7")  # five for the mark, five for the network
    assert sign_in("wrong", browser=thief, address="198.51.100.7").status_code == 429

    assert sign_in(RIGHT, browser=own).status_code == 302


def test_every_sign_in_leaves_a_new_mark() -> None:
    own = Client()
    sign_in(RIGHT, browser=own)
    (name,) = (one for one in own.cookies if one.startswith("browser_"))
    before = own.cookies[name].value
    sign_in(RIGHT, browser=own)

    assert own.cookies[name].value != before


def test_signing_in_forgets_the_failures_before_it() -> None:
    fail(4)
    assert sign_in(RIGHT).status_code == 302

    fail(5)


def test_of_many_that_come_at_once_no_more_are_looked_at_than_there_are_to_spare() -> None:
    def once(number: int) -> int:
        try:
            return sign_in("wrong").status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(once, range(64)))

    assert answers.count(200) == 5
    assert answers.count(429) == 59
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


class LinesWritten(logging.Handler):
    """The lines of the log, as they are written outside debug."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(LineFormatter(shape="json", words=False, secrets=()))
        self.written: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """One more."""
        self.written.append(json.loads(self.format(record)))


def test_the_log_tells_of_signing_in_and_out_of_failures_and_of_waits(author: Any) -> None:
    lines = LinesWritten()
    logging.getLogger("newsletter_site").addHandler(lines)
    try:
        fail(5)
        sign_in("wrong")
        fail(1, name="nobody-here")
        own = Client()
        sign_in(RIGHT, browser=own, address="198.51.100.7")
        own.post("/admin/logout/", secure=True)
    finally:
        logging.getLogger("newsletter_site").removeHandler(lines)

    told = [line for line in lines.written if "sign" in line["event"]]
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


def test_an_operator_lets_an_author_in_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    fail(5)
    call_command("let_in", "edith")

    assert sign_in(RIGHT).status_code == 302


def test_letting_in_promises_no_sign_in_where_the_whole_network_has_to_wait(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number in range(50):
        assert sign_in("wrong", name=f"name {number}").status_code == 200

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
    call_command("let_in", "edith")
    link = capsys.readouterr().out.strip().splitlines()[-1]
    fail(5)
    own = Client()
    way = own.get(link.removeprefix("https://letter.example.org"), secure=True)

    assert way["Location"] == LOGIN
    assert sign_in(RIGHT).status_code == 429
    assert "sessionid" not in own.cookies
    assert sign_in(RIGHT, browser=own).status_code == 302


def test_however_often_the_operators_link_is_opened_there_is_one_count_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call_command("let_in", "edith")
    link = capsys.readouterr().out.strip().splitlines()[-1]
    way = link.removeprefix("https://letter.example.org")
    fail(5)
    first, second = Client(), Client()
    first.get(way, secure=True)
    second.get(way, secure=True)

    fail(3, browser=first)
    fail(2, browser=second)
    assert sign_in("wrong", browser=first).status_code == 429


def test_a_link_that_no_operator_made_is_refused() -> None:
    assert Client().get(f"{LOGIN}known/made-up/", secure=True).status_code == 410


def test_who_cannot_sign_in_anyway_is_not_let_in(author: Any) -> None:
    with pytest.raises(CommandError, match="no author with the user name 'nobody'"):
        call_command("let_in", "nobody")
    author.is_staff = False
    author.save()
    with pytest.raises(CommandError, match="staff status"):
        call_command("let_in", "edith")

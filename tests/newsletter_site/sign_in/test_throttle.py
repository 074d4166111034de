"""Failed sign-ins are counted by name and network, or for each known browser."""

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
from django.db.models import F
from django.test import Client
from django.urls import reverse

from tests.capture_log import log_lines

LOGIN = "/admin/login/"
RIGHT = "a long password"


class CountedHasher(MD5PasswordHasher):
    """A hasher that counts how often it hashes or verifies a password."""

    hashed = 0

    def encode(self, password: str, salt: str) -> str:
        type(self).hashed += 1
        return super().encode(password, salt)


@pytest.fixture(autouse=True)
def author(transactional_db: None, settings: LazySettings) -> Any:
    """Create Edith; after five failed sign-ins, Edith must wait for ten minutes."""
    settings.AXES_FAILURE_LIMIT = 5
    settings.AXES_COOLOFF_TIME = timedelta(seconds=600)
    settings.PASSWORD_HASHERS = [f"{__name__}.CountedHasher"]
    author = get_user_model().objects.create_user("edith", password=RIGHT, is_staff=True)
    CountedHasher.hashed = 0
    return author


def sign_in(
    password: str, name: str = "edith", browser: Client | None = None, address: str = "203.0.113.7"
) -> Any:
    """Post the form, by default from a new browser."""
    return (browser or Client()).post(
        LOGIN, {"username": name, "password": password}, secure=True, REMOTE_ADDR=address
    )


def fail(times: int, **how: Any) -> None:
    for _ in range(times):
        assert sign_in("wrong", **how).status_code == 200


def lock(**how: Any) -> None:
    """Fail to sign in until the wait begins."""
    fail(4, **how)
    assert sign_in("wrong", **how).status_code == 429


def cookie_name(browser: Client) -> str:
    """Return the name of the cookie of a known browser."""
    (name,) = (one for one in browser.cookies if one.startswith("browser_"))
    return name


def operators_link(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the path of the link that an operator gives to Edith."""
    call_command("unblock_sign_in", "edith")
    link = capsys.readouterr().out.strip().splitlines()[-1]
    return link.removeprefix("https://letter.example.org")


def test_the_right_password_during_a_wait_is_not_revealed() -> None:
    lock()
    wrong, right = sign_in("wrong"), sign_in(RIGHT)
    assert wrong.status_code == right.status_code == 429
    assert int(wrong["Retry-After"]) == 600
    assert wrong["Cache-Control"] == "no-store"
    assert right.content == wrong.content
    assert set(right.cookies) == set(wrong.cookies)
    assert not Session.objects.exists()


def test_an_unknown_name_gets_the_same_answers() -> None:
    answers = {
        name: [sign_in("wrong", name=name, address=address) for _ in range(7)]
        for name, address in (("edith", "203.0.113.7"), ("nobody", "198.51.100.7"))
    }
    known, unknown = answers.values()
    assert [page.status_code for page in known] == [200] * 4 + [429] * 3
    assert [page.status_code for page in unknown] == [page.status_code for page in known]
    assert unknown[-1].content == known[-1].content


def test_an_unknown_name_costs_as_many_hashes() -> None:
    lock()
    assert CountedHasher.hashed == 5
    sign_in("wrong")
    sign_in(RIGHT)
    assert CountedHasher.hashed == 5
    fail(1, name="nobody")
    assert CountedHasher.hashed == 6


def time_passes(**how: int) -> None:
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(**how))


def test_attempts_during_a_wait_do_not_make_it_longer() -> None:
    lock()
    time_passes(minutes=9)
    for _ in range(20):
        assert sign_in("wrong").status_code == 429
    time_passes(minutes=1)
    assert sign_in(RIGHT).status_code == 302


def test_after_a_wait_the_same_number_of_attempts_is_allowed() -> None:
    lock()
    time_passes(minutes=10)
    lock()


@pytest.mark.parametrize(
    ("one", "neighbour", "elsewhere"),
    [
        ("203.0.113.7", "203.0.113.200", "198.51.100.7"),
        ("2001:db8:1:2::7", "2001:db8:1:ffff::1", "2001:db8:2::7"),
    ],
)
def test_failures_count_for_their_network_only(one: str, neighbour: str, elsewhere: str) -> None:
    lock(address=one)
    assert sign_in(RIGHT, address=neighbour).status_code == 429
    assert sign_in(RIGHT, address=elsewhere).status_code == 302


def test_strangers_cannot_lock_an_author_out_of_a_known_browser() -> None:
    own = Client()
    assert sign_in(RIGHT, browser=own).status_code == 302
    own.post("/admin/logout/", secure=True)
    lock()
    assert sign_in(RIGHT).status_code == 429
    assert sign_in(RIGHT, browser=own).status_code == 302


def test_the_cookie_is_for_one_author() -> None:
    get_user_model().objects.create_user("mallory", password=RIGHT, is_staff=True)
    mallorys, own = Client(), Client()
    assert sign_in(RIGHT, name="mallory", browser=mallorys).status_code == 302
    sign_in(RIGHT, browser=own)
    edith, mallory = cookie_name(own), cookie_name(mallorys)
    assert edith != mallory
    lock()
    made_up = ("", "made up", "WyJhIiwiYiJd:1:abc", "\x00")
    for value in (mallorys.cookies[mallory].value, *made_up):
        forged = Client()
        forged.cookies[edith] = value
        assert sign_in(RIGHT, browser=forged).status_code == 429, value


def test_the_cookie_is_signed_renewed_and_hidden_from_scripts(settings: LazySettings) -> None:
    own = Client()
    sign_in(RIGHT, browser=own)
    cookie = own.cookies[cookie_name(own)]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")
    # The cookie is also sent to other pages that ask for the password.
    assert cookie["path"] == "/admin/"
    assert reverse("two_step").startswith(cookie["path"])
    assert cookie["max-age"] == 365 * 24 * 3600
    assert "edith" not in cookie.OutputString()
    before = cookie.value
    sign_in(RIGHT, browser=own)
    assert own.cookies[cookie_name(own)].value != before


def test_a_copied_cookie_does_not_lock_its_author_out() -> None:
    own, thief = Client(), Client()
    sign_in(RIGHT, browser=own)
    name = cookie_name(own)
    thief.cookies[name] = own.cookies[name].value
    lock(browser=thief, address="198.51.100.7")
    assert sign_in("wrong", browser=thief, address="198.51.100.7").status_code == 429
    assert sign_in(RIGHT, browser=own).status_code == 302


def test_signing_in_resets_earlier_failures() -> None:
    fail(4)
    assert sign_in(RIGHT).status_code == 302
    fail(4)
    assert sign_in(RIGHT).status_code == 302


def test_typed_secrets_are_not_stored_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    typed = "my-password-in-the-wrong-field"
    lock(name=typed)
    assert sign_in("another-secret", name=typed).status_code == 429
    fail(1)
    fields = {"username": "x", "password": "y", "other": "typed-secret"}
    Client().post(f"{LOGIN}?token=typed-secret", fields, secure=True)
    assert sign_in(RIGHT).status_code == 302
    stored = "".join(str(row) for row in AccessAttempt.objects.values_list())
    for secret in (typed, "another-secret", "typed-secret", RIGHT, "edith"):
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


def test_the_log_has_sign_ins_failures_and_refusals(author: Any) -> None:
    with log_lines() as lines:
        lock()
        sign_in("wrong")
        fail(1, name="nobody-here")
        own = Client()
        sign_in(RIGHT, browser=own, address="198.51.100.7")
        own.post("/admin/logout/", secure=True)
    logged = [
        (line["event"], line.get("author"))
        for line in lines()
        if re.match(r"(a sign-in|a user signed)", line["event"])
    ]
    assert logged == [
        *[("a sign-in failed", str(author.pk))] * 5,
        ("a sign-in was refused unchecked after too many failures", None),
        ("a sign-in with an unknown name failed", None),
        ("a user signed in", str(author.pk)),
        ("a user signed out", str(author.pk)),
    ]
    assert not any("203.0.113" in json.dumps(line) for line in lines())


def test_the_operators_link_unblocks_an_author_while_others_guess(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = operators_link(capsys)
    lock()
    own = Client()
    assert own.get(path, secure=True)["Location"] == LOGIN
    assert Client().get(f"{LOGIN}known/made-up/", secure=True).status_code == 410
    assert sign_in(RIGHT).status_code == 429
    assert "sessionid" not in own.cookies
    assert sign_in(RIGHT, browser=own).status_code == 302


def test_browsers_that_open_one_operators_link_share_a_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = operators_link(capsys)
    first, second = Client(), Client()
    first.get(path, secure=True)
    second.get(path, secure=True)
    fail(2, browser=first)
    fail(2, browser=second)
    assert sign_in("wrong", browser=first).status_code == 429


def test_an_operator_unblocks_an_author(author: Any) -> None:
    lock()
    call_command("unblock_sign_in", "edith")
    assert sign_in(RIGHT).status_code == 302
    with pytest.raises(CommandError, match="No author has the user name “nobody”"):
        call_command("unblock_sign_in", "nobody")
    with pytest.raises(CommandError, match=re.escape("user name “no{x}”")):
        call_command("unblock_sign_in", "no{x}")
    author.is_staff = False
    author.save()
    with pytest.raises(CommandError, match="staff status"):
        call_command("unblock_sign_in", "edith")

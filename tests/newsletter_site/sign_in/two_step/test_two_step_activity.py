"""Changes of two-step sign-in are in the activity log."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django_otp.plugins.otp_totp.models import TOTPDevice

from publishing.activity.activity_sentences import sentence_of
from tests.newsletter_site.sign_in.two_step.two_step_browser import (
    PAGE,
    PASSWORD,
    Browser,
    code_now,
)


def test_every_change_is_in_the_activity_log(codes: list[str]) -> None:
    window = Browser()
    window.sign_in(codes[0])
    window.send(PAGE, do="new-codes", password_or_code=PASSWORD)
    window.send(PAGE, do="remove", password_or_code=PASSWORD)
    said = [str(sentence_of(entry)) for entry in LogEntry.objects.order_by("pk")]
    assert [words.partition(",")[0] for words in said] == [
        "Signed in from a browser that was not known yet",
        "Set up two-step sign-in.",
        "Signed in from a browser that was not known yet",
        "Made new recovery codes.",
        "Switched two-step sign-in off.",
    ]
    assert "with a recovery code" in said[2]


def last_line() -> LogEntry:
    return LogEntry.objects.order_by("pk").last()


@pytest.mark.parametrize("typed", ["{}{}", "{}-{}", " {} {} "])
def test_an_app_code_is_not_taken_for_a_recovery_code(codes: list[str], typed: str) -> None:
    code = code_now()
    assert Browser().sign_in(typed.format(code[:3], code[3:])).status_code == 302
    assert "recovery" not in str(sentence_of(last_line()))


def test_operators_commands_are_in_the_activity_log(
    codes: list[str],
) -> None:
    get_user_model().objects.create_superuser("ola")
    window = Browser()
    window.sign_in(code_now())
    call_command("unblock_sign_in", "edith")
    assert str(sentence_of(last_line())) == (
        "Had the failed sign-ins forgotten by an operator, from the command line."
    )
    call_command("remove_second_factor", "edith")
    assert last_line().object_repr == "edith"
    assert str(sentence_of(last_line())) == (
        "Had two-step sign-in switched off by an operator, from the command line."
    )
    assert not window.is_signed_in
    assert Browser().sign_in().status_code == 302
    with pytest.raises(CommandError, match="does not use two-step sign-in"):
        call_command("remove_second_factor", "edith")
    with pytest.raises(CommandError, match="No author"):
        call_command("remove_second_factor", "nobody")


@pytest.fixture
def log_that_takes_no_line(transactional_db: None) -> Iterator[None]:
    """Make the log read-only."""
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE django_admin_log ADD CONSTRAINT no_room CHECK (false) NOT VALID"
        )
        yield
        cursor.execute("ALTER TABLE django_admin_log DROP CONSTRAINT no_room")


def by_its_owner() -> None:
    window = Browser()
    window.force_login(get_user_model().objects.get())
    window.send(PAGE, do="remove", password_or_code=PASSWORD)


def by_an_operator() -> None:
    call_command("remove_second_factor", "edith")


@pytest.mark.parametrize("take_away", [by_its_owner, by_an_operator])
def test_it_is_not_turned_off_without_its_log_entry(
    codes: list[str], take_away: Callable[[], None], log_that_takes_no_line: None
) -> None:
    with pytest.raises(IntegrityError):
        take_away()
    assert TOTPDevice.objects.exists()
    assert get_user_model().objects.get().two_step_since is not None

"""Changes of two-step sign-in are in the activity log."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django_otp.plugins.otp_totp.models import TOTPDevice

from publishing.activity.activity_sentences import plain_sentence_of
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
    sentences = [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")]
    how = "from the network 127.0.0.0/24, with a browser that was not used before."
    assert sentences == [
        f"edith signed in {how}",
        "edith set up two-step sign-in for edith.",
        f"edith signed in {how} A recovery code was used.",
        "edith created new recovery codes for edith.",
        "edith turned off two-step sign-in for edith.",
    ]


def last_line() -> LogEntry:
    return LogEntry.objects.order_by("pk").last()


@pytest.mark.parametrize("typed", ["{}{}", "{}-{}", " {} {} "])
def test_app_code_is_not_accepted_as_a_recovery_code(codes: list[str], typed: str) -> None:
    code = code_now()
    assert Browser().sign_in(typed.format(code[:3], code[3:])).status_code == 302
    assert "recovery" not in plain_sentence_of(last_line())


def test_operators_commands_are_in_the_activity_log(codes: list[str]) -> None:
    get_user_model().objects.create_superuser("ola")
    window = Browser()
    window.sign_in(code_now())
    call_command("unblock_sign_in", "edith")
    assert plain_sentence_of(last_line()) == (
        "An operator reset the failed sign-ins of edith. This was done on the command line."
    )
    call_command("remove_second_factor", "edith")
    assert last_line().object_repr == "edith"
    assert plain_sentence_of(last_line()) == (
        "An operator turned off two-step sign-in for edith. This was done on the command line."
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
def test_two_step_is_not_turned_off_without_its_log_entry(
    codes: list[str], take_away: Callable[[], None], log_that_takes_no_line: None
) -> None:
    with pytest.raises(IntegrityError):
        take_away()
    assert TOTPDevice.objects.exists()
    assert get_user_model().objects.get().two_step_since is not None

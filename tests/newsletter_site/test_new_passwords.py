"""A new password takes the old one, or for somebody else's one's own; guessing them counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test import Client

from tests.idempotency.onlooker import Onlooker

pytestmark = pytest.mark.django_db(transaction=True)

PASSWORD = "swifts over the hedge"
NEW = "reed and heron"
OWN = "/admin/password_change/"


@pytest.fixture(autouse=True)
def edith(settings: LazySettings) -> Any:
    """Edith, who may do everything; five failures are borne, then waits are long."""
    settings.LOGIN_FAILURES = 5
    settings.LOGIN_COOL_OFF_S = 600.0
    return get_user_model().objects.create_superuser("edith", password=PASSWORD)


@pytest.fixture
def ines() -> Any:
    return get_user_model().objects.create_user("ines", password="a long password", is_staff=True)


@pytest.fixture
def window(edith: Any) -> Client:
    """A session of hers that was left open, in a browser that is not known."""
    window = Client()
    window.force_login(edith)
    return window


def own(window: Client, old: str, new: str = NEW) -> Any:
    fields = {"old_password": old, "new_password1": new, "new_password2": new}
    return window.post(OWN, fields, secure=True)


def of(person: Any, window: Client, proof: str) -> Any:
    fields = {
        "proof": proof,
        "usable_password": "true",
        "password1": NEW,
        "password2": NEW,
        "set-password": "1",
    }
    address = f"/admin/newsletter_site/user/{person.pk}/password/"
    return window.post(address, fields, secure=True)


def test_guessing_the_old_password_counts_like_guessing_at_the_door(
    window: Client, edith: Any
) -> None:
    assert [own(window, "wrong").status_code for _ in range(6)] == [200] * 5 + [429]
    assert own(window, PASSWORD).status_code == 429
    edith.refresh_from_db()
    assert edith.check_password(PASSWORD)


def test_what_is_wrong_with_the_new_password_alone_is_no_failure(window: Client) -> None:
    assert [own(window, PASSWORD, new="short").status_code for _ in range(7)] == [200] * 7
    assert own(window, PASSWORD)["Location"] == f"{OWN}done/"
    # Whoever changed their password is told to look at their tokens.
    page = window.get(f"{OWN}done/", secure=True).content.decode()
    assert 'href="/admin/newsletters/tokens/"' in page


def test_nobody_gives_themselves_a_password_without_the_old_one(window: Client, edith: Any) -> None:
    answer = of(edith, window, PASSWORD)
    assert answer["Location"] == OWN
    edith.refresh_from_db()
    assert edith.check_password(PASSWORD)


def test_somebody_elses_password_takes_ones_own(window: Client, ines: Any) -> None:
    refused = of(ines, window, "not it")
    page = window.get(refused["Location"], secure=True).content.decode()
    assert "This is not your password. Nothing was changed." in page
    assert "Your own password" in page
    ines.refresh_from_db()
    assert not ines.check_password(NEW)
    of(ines, window, PASSWORD)
    ines.refresh_from_db()
    assert ines.check_password(NEW)


def test_guessing_ones_own_password_there_counts_too(window: Client, ines: Any) -> None:
    assert [of(ines, window, "wrong").status_code for _ in range(6)] == [302] * 5 + [429]
    assert of(ines, window, PASSWORD).status_code == 429
    ines.refresh_from_db()
    assert not ines.check_password(NEW)


def test_of_two_windows_that_change_it_at_once_the_second_is_told_that_its_old_one_is_no_more(
    window: Client, edith: Any, database_url: str
) -> None:
    def in_the_other_window() -> Any:
        try:
            return own(window, PASSWORD)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, psycopg.connect(database_url, autocommit=True) as looking:
        onlooker = Onlooker(looking)

        def waiting() -> int:
            return int(
                onlooker.one(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
                )
            )

        with transaction.atomic():
            edith.set_password("set by the first")
            edith.save(update_fields=["password"])
            second = pool.submit(in_the_other_window)
            onlooker.until(waiting, 1)
        answer = second.result()

    assert answer.status_code == 200
    assert "Your old password was entered incorrectly" in answer.content.decode()
    edith.refresh_from_db()
    assert edith.check_password("set by the first")

"""Password rules, hashing and changes, and the sessions that end with a password."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import PBKDF2PasswordHasher, identify_hasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.test import Client

from newsletter_site.settings import PASSWORD_HASHERS
from tests.delivery.edition_factory import Newsroom
from tests.publishing.second_connection import PATIENCE_S, beside

pytestmark = pytest.mark.django_db(transaction=True)

LOGIN = "/admin/login/"
DESK = "/admin/newsletters/issues/"
PASSWORD = "swifts over the hedge"
NEW = "reed and heron"
OWN = "/admin/password_change/"
PROFILE = "/admin/profile/"


@pytest.fixture(autouse=True)
def edith(settings: LazySettings) -> Any:
    """Create Edith, who has all permissions; after five failed sign-ins she must wait."""
    settings.AXES_FAILURE_LIMIT = 5
    settings.AXES_COOLOFF_TIME = timedelta(seconds=600)
    return get_user_model().objects.create_superuser("edith", password=PASSWORD)


def signed_in(password: str = PASSWORD) -> Client:
    window = Client()
    window.post(LOGIN, {"username": "edith", "password": password}, secure=True)
    return window


def is_in(window: Client) -> bool:
    return window.get(DESK, secure=True).status_code == 200


def test_weak_passwords_are_refused() -> None:
    edith = get_user_model()(username="edith.marlow", first_name="Edith", last_name="Marlow")
    for password in ("elevensigns", "password1234", "918273645546", "edith.marlow"):
        with pytest.raises(ValidationError):
            validate_password(password, edith)
    validate_password("heron & reed", edith)


def test_an_older_hash_becomes_argon2_at_sign_in(edith: Any, settings: LazySettings) -> None:
    settings.PASSWORD_HASHERS = PASSWORD_HASHERS
    edith.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1000)
    edith.save()
    assert is_in(signed_in())
    edith.refresh_from_db()
    assert identify_hasher(edith.password).algorithm == "argon2"
    assert is_in(signed_in())


def test_signing_in_makes_a_new_session_key(edith: Any) -> None:
    window = Client()
    session = window.session
    session["something"] = "from before"
    session.save()
    planted = session.session_key
    window.cookies["sessionid"] = planted
    window.post(LOGIN, {"username": "edith", "password": PASSWORD}, secure=True)
    assert is_in(window)
    assert window.cookies["sessionid"].value != planted
    planted_one = Client()
    planted_one.cookies["sessionid"] = planted
    assert not is_in(planted_one)


def test_a_new_password_ends_all_other_sessions(edith: Any) -> None:
    hers, stolen = signed_in(), signed_in()
    assert is_in(stolen)
    own(hers, PASSWORD)
    assert is_in(hers)
    assert not is_in(stolen)
    assert not is_in(signed_in())
    assert is_in(signed_in(NEW))


def test_signing_out_ends_the_session_itself(edith: Any) -> None:
    window = signed_in()
    key = window.cookies["sessionid"].value
    window.post("/admin/logout/", secure=True)
    again = Client()
    again.cookies["sessionid"] = key
    assert not is_in(again)


@pytest.fixture
def ines() -> Any:
    return get_user_model().objects.create_user("ines", password="a long password", is_staff=True)


@pytest.fixture
def window(edith: Any) -> Client:
    """Return a browser with Edith's session, without the cookie of a known browser."""
    window = Client()
    window.force_login(edith)
    return window


def own(window: Client, old: str, new: str = NEW) -> Any:
    fields = {"old_password": old, "new_password1": new, "new_password2": new}
    return window.post(OWN, fields, secure=True)


def of(person: Any, window: Client, password_or_code: str) -> Any:
    fields = {
        "password_or_code": password_or_code,
        "usable_password": "true",
        "password1": NEW,
        "password2": NEW,
        "set-password": "1",
    }
    address = f"/admin/newsletter_site/user/{person.pk}/password/"
    return window.post(address, fields, secure=True)


def test_guesses_of_the_old_password_count_as_failed_sign_ins(window: Client, edith: Any) -> None:
    assert [own(window, "wrong").status_code for _ in range(6)] == [200] * 4 + [429] * 2
    assert own(window, PASSWORD).status_code == 429
    edith.refresh_from_db()
    assert edith.check_password(PASSWORD)


def test_a_weak_new_password_does_not_count_as_failed(window: Client) -> None:
    assert [own(window, PASSWORD, new="short").status_code for _ in range(7)] == [200] * 7
    assert own(window, PASSWORD)["Location"] == PROFILE
    page = window.get(PROFILE, secure=True).content.decode()
    assert "Your tokens keep working." in page
    assert 'href="/admin/newsletters/tokens/"' in page


def test_changing_ones_own_password_needs_the_old_one(window: Client, edith: Any) -> None:
    answer = of(edith, window, PASSWORD)
    assert answer["Location"] == OWN
    edith.refresh_from_db()
    assert edith.check_password(PASSWORD)


def test_changing_another_users_password_needs_ones_own(window: Client, ines: Any) -> None:
    refused = of(ines, window, "not it")
    page = window.get(refused["Location"], secure=True).content.decode()
    assert "This is not your password. Nothing was changed." in page
    assert "Your own password" in page
    ines.refresh_from_db()
    assert not ines.check_password(NEW)
    of(ines, window, PASSWORD)
    ines.refresh_from_db()
    assert ines.check_password(NEW)


def test_guesses_on_that_page_count_as_failed_sign_ins(window: Client, ines: Any) -> None:
    assert [of(ines, window, "wrong").status_code for _ in range(6)] == [302] * 4 + [429] * 2
    assert of(ines, window, PASSWORD).status_code == 429
    ines.refresh_from_db()
    assert not ines.check_password(NEW)


def test_the_second_of_two_concurrent_changes_is_refused(window: Client, edith: Any) -> None:
    with transaction.atomic():
        edith.set_password("set by the first")
        edith.save(update_fields=["password"])
        second = beside(lambda: own(window, PASSWORD))
        Newsroom().wait_for_a_backend_that_waits_for_a_lock()
    answer = second.result(PATIENCE_S)

    assert answer.status_code == 200
    assert "Your old password was entered incorrectly" in answer.content.decode()
    edith.refresh_from_db()
    assert edith.check_password("set by the first")

"""Passwords are long and hashed with Argon2; a session ends when its password changes."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import PBKDF2PasswordHasher, identify_hasher
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client

from newsletter_site.settings import PASSWORD_HASHERS

pytestmark = pytest.mark.django_db(transaction=True)

LOGIN = "/admin/login/"
DESK = "/admin/newsletters/issues/"
PASSWORD = "swifts over the hedge"


@pytest.fixture
def edith() -> Any:
    """Edith, who may do everything."""
    return get_user_model().objects.create_superuser("edith", password=PASSWORD)


def signed_in(password: str = PASSWORD) -> Client:
    """A browser after a try to sign in."""
    window = Client()
    window.post(LOGIN, {"username": "edith", "password": password}, secure=True)
    return window


def is_in(window: Client) -> bool:
    return window.get(DESK, secure=True).status_code == 200


def test_a_password_that_is_short_or_common_or_a_number_or_the_name_is_refused() -> None:
    edith = get_user_model()(username="edith.marlow", first_name="Edith", last_name="Marlow")
    for password in ("elevensigns", "password1234", "918273645546", "edith.marlow"):
        with pytest.raises(ValidationError):
            validate_password(password, edith)
    validate_password("heron & reed", edith)


def test_a_hash_of_older_days_becomes_one_of_argon2_when_its_owner_signs_in(
    edith: Any, settings: LazySettings
) -> None:
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


def test_a_new_password_signs_out_everywhere_but_where_it_was_set(edith: Any) -> None:
    own, stolen = signed_in(), signed_in()
    assert is_in(stolen)
    new = dict.fromkeys(("new_password1", "new_password2"), "reed and heron")
    own.post("/admin/password_change/", {"old_password": PASSWORD, **new}, secure=True)
    assert is_in(own)
    assert not is_in(stolen)
    assert not is_in(signed_in())
    assert is_in(signed_in("reed and heron"))


def test_signing_out_ends_the_session_itself(edith: Any) -> None:
    window = signed_in()
    key = window.cookies["sessionid"].value
    window.post("/admin/logout/", secure=True)
    again = Client()
    again.cookies["sessionid"] = key
    assert not is_in(again)

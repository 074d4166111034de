"""Whoever set up a second factor signs in with the password and a code, and nobody without."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth import get_user_model

from tests.newsletter_site.second_factor.a_browser import (
    DESK,
    LOGIN,
    Browser,
    code_now,
    time_goes_by,
)


def test_the_right_password_alone_gives_no_session(codes: list[str]) -> None:
    window = Browser()
    page = window.sign_in()
    assert page.status_code == 200
    assert "Your code" in page.content.decode()
    assert not window.is_signed_in
    # Begin again leads back to the password.
    assert "Your code" in window.at(LOGIN).content.decode()
    assert "User name" in window.at(f"{LOGIN}?again").content.decode()
    assert "User name" in window.at(LOGIN).content.decode()
    # A code without a password before it is worth nothing.
    assert window.send(LOGIN, code=code_now())["Location"] == LOGIN
    assert not window.is_signed_in


def test_password_and_code_sign_in_and_lead_where_one_wanted_to_go(codes: list[str]) -> None:
    window = Browser()
    assert window.sign_in(code_now(), next=DESK)["Location"] == DESK
    assert window.is_signed_in
    for elsewhere in ("https://evil.example/", "//evil.example", "javascript:x"):
        time_goes_by()
        window = Browser()
        page = window.sign_in(next=elsewhere)
        answer = window.send(f"{LOGIN}?next={elsewhere}", code=code_now(), next=elsewhere)
        assert "evil" not in page.content.decode()
        assert answer["Location"] == "/admin/"


def test_nothing_tells_who_has_one_before_the_password_was_right(codes: list[str]) -> None:
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

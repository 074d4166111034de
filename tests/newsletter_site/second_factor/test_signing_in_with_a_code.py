"""Whoever set up a second factor signs in with the password and a code, and nobody without."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from tests.newsletter_site.second_factor.a_browser import DESK, LOGIN, Browser, code_now


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

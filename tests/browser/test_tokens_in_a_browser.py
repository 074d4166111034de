"""The page of tokens in a real browser: for everybody, and a token that then works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect

from newsletter_site.tokens.keeping import make
from tests.browser.desk_of_readers import signed_in
from tests.browser.for_everybody import (
    NARROWEST,
    faults_found_by_axe,
    out_of_reach_of_the_keyboard,
    scrolls_sideways,
)
from tests.browser.web_site import WebSite

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/newsletters/tokens/"


@pytest.fixture
def window(new_page: Callable[..., Page], site: WebSite, author: Any) -> Callable[..., Page]:
    """Opens windows of somebody who is signed in."""
    return lambda **options: signed_in(new_page(**options), site, author)


def make_one(page: Page) -> None:
    page.goto(PAGE)
    page.get_by_label("Name").fill("The almanack’s press")
    page.get_by_label("Publishing and scheduling issues").check()
    page.get_by_label("Your password").fill("a long password")
    page.get_by_role("button", name="Make the token").click()
    expect(page.get_by_label("Your new token")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_make_and_revoke_a_token(
    window: Callable[..., Page], author: Any, scheme: str
) -> None:
    make(author, "an older program with a rather long name", ["status", "readers"])
    page = window(color_scheme=scheme, viewport=NARROWEST, java_script_enabled=True)
    make_one(page)
    assert faults_found_by_axe(page) == []
    assert out_of_reach_of_the_keyboard(page) == []
    assert not scrolls_sideways(page)
    page.get_by_role("link", name="Revoke “an older program").click()
    assert faults_found_by_axe(page) == []
    page.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_role("status")).to_have_text(
        "“an older program with a rather long name” is not accepted any more."
    )


def test_a_token_from_the_page_publishes_without_scripts(
    window: Callable[..., Page], site: WebSite
) -> None:
    page = window(java_script_enabled=False)
    make_one(page)
    token = page.get_by_label("Your new token").input_value()
    answer = requests.post(
        f"{site.url}/api/v1/issues/",
        json={"title": "Swifts", "text": "They have gone."},
        headers={"Authorization": f"Bearer {token}", "Idempotency-Key": "october"},
        timeout=30,
    )
    assert answer.status_code == 201, answer.text

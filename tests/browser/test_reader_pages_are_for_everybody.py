"""Readers' pages: by ear (axe), by keyboard, on a phone, in the dark, and without scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from playwright.sync_api import Page

from publishing.content import Content
from publishing.publish import publish
from subscribers import consent, request_token
from subscribers.request_token import Request
from subscribers.unsubscribe_token import token_for
from tests.browser.desk_of_readers import LONGEST
from tests.browser.for_everybody import (
    NARROWEST,
    content_without_tokens,
    faults_found_by_axe,
    out_of_reach_of_the_keyboard,
    scrolls_sideways,
)
from tests.browser.web_site import WebSite
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.signing_up_by_hand import link

pytestmark = pytest.mark.django_db(transaction=True)

LETTER = """
<h1>Swifts leave without saying goodbye</h1><p class="open">They are gone.</p>
<h2>Where they are now</h2><p>Over <a href="https://example.org/congo">the Congo basin</a>.</p>
<table><caption>Last seen</caption><tr><th scope="col">Year</th><th scope="col">Birds</th></tr>
<tr><td>2026</td><td class="num">14</td></tr></table>
"""


@pytest.fixture
def pages(author: Any, site: WebSite) -> dict[str, str]:
    """Every page that a reader may come to, by name: its address."""
    words = Content("Swifts leave without saying goodbye", LETTER, "They are gone.")
    first = publish(author.pk, "first", words, hold_s=0).edition
    publish(author.pk, "second", words, hold_s=0, issue=first.issue_id, version=2)
    unlisted = publish(author.pk, "third", words, hold_s=0, unlisted=True).edition
    reader = SubscriberFactory(email="ada.whitlock@posthouse.example.org")
    # As long as an address may be, with nowhere a place to break a line.
    long = SubscriberFactory(email=LONGEST)
    gone = SubscriberFactory(state="unsubscribed")
    asking = SubscriberFactory(state="pending", requests=1)
    consent.record(asking.pk, "asked", "form", request=1)
    consent.record(reader.pk, "record asked", "form", request=1, wording="What do you hold?")
    record = request_token.token_for("record", Request(reader.pk, 1))
    too_old = request_token.token_for("record", Request(reader.pk, 2))
    return {
        "front page": "/",
        "sign up": "/subscriptions/",
        "confirm": link(asking, 1),
        "confirmed": link(reader, 1),
        "too old to confirm": link(gone, 1),
        "archive": "/archive/",
        "a corrected letter": first.archive_url.removeprefix("https://letter.example.org"),
        "an unlisted letter": unlisted.archive_url.removeprefix("https://letter.example.org"),
        "leave": f"/unsubscribe/{token_for(reader.pk)}/",
        "leave, of a long address": f"/unsubscribe/{token_for(long.pk)}/",
        "left just now": f"/unsubscribe/{token_for(long.pk)}/",
        "asked": "/",
        "sign up with mistakes": "/",
        "asked for a record": "/record/",
        "asked for a record of no address": "/record/",
        "erased": f"/record/{record}/erase/",
        "left": f"/unsubscribe/{token_for(gone.pk)}/",
        "a link that does not work": "/unsubscribe/cut-off/",
        "asking for a record": "/record/",
        "record": f"/record/{record}/",
        "erase": f"/record/{record}/erase/",
        "a link that is too old": f"/record/{too_old}/",
    }


def _press(page: Page, button: str, **typed: str) -> None:
    for field, text in typed.items():
        page.get_by_label(field.capitalize()).first.fill(text)
    # Where it was pressed before, the page says so and has no button any more.
    if page.get_by_role("button", name=button).count():
        with page.expect_navigation():
            page.get_by_role("button", name=button).click()


# What is done on a page before it is looked at.
DONE_THERE: Mapping[str, Callable[[Page], None]] = MappingProxyType(
    {
        "left just now": lambda page: _press(page, "Stop sending me letters"),
        "asked": lambda page: _press(page, "Subscribe", email="new@posthouse.example.org"),
        "sign up with mistakes": lambda page: _press(page, "Subscribe", email="@", name="\u202e"),
        "asked for a record": lambda page: _press(page, "Mail me", email="a@posthouse.example.org"),
        "asked for a record of no address": lambda page: _press(page, "Mail me", email="ada@"),
        "erased": lambda page: _press(page, "Erase everything about me"),
    }
)


def visit(page: Page, name: str, address: str) -> None:
    """Come to this page, and do on it what makes it look as its name says."""
    page.goto(address)
    if name in DONE_THERE:
        DONE_THERE[name](page)


EVERY_PAGE = pytest.mark.parametrize(
    "name",
    [
        "front page",
        "sign up",
        "confirm",
        "confirmed",
        "too old to confirm",
        "archive",
        "a corrected letter",
        "an unlisted letter",
        "leave",
        "leave, of a long address",
        "left just now",
        "left",
        "asked",
        "sign up with mistakes",
        "asked for a record",
        "asked for a record of no address",
        "erased",
        "a link that does not work",
        "asking for a record",
        "record",
        "erase",
        "a link that is too old",
    ],
)


@EVERY_PAGE
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_screen_reader_finds_its_way(
    new_page: Callable[..., Page], pages: dict[str, str], name: str, scheme: str
) -> None:
    page = new_page(color_scheme=scheme)
    visit(page, name, pages[name])
    assert faults_found_by_axe(page) == []


@EVERY_PAGE
def test_everything_is_reached_by_keyboard_and_fits_a_small_phone(
    new_page: Callable[..., Page], pages: dict[str, str], name: str
) -> None:
    page = new_page(viewport=NARROWEST)
    visit(page, name, pages[name])
    assert not scrolls_sideways(page)
    assert out_of_reach_of_the_keyboard(page) == []


@EVERY_PAGE
def test_the_page_is_the_same_without_scripts(
    new_page: Callable[..., Page], pages: dict[str, str], name: str
) -> None:
    """So what axe found of the one holds for the other, where axe itself could not run."""
    documents = []
    for scripts in (True, False):
        page = new_page(java_script_enabled=scripts)
        visit(page, name, pages[name])
        documents.append(content_without_tokens(page))
    assert documents[0] == documents[1]
    assert "<script" not in documents[0]

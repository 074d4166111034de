"""The desk at a glance, empty, busy and after a year: by ear, by keyboard, on a phone, live."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from delivery.models import Batch, Edition
from tests.browser.desk_of_readers import signed_in
from tests.browser.for_everybody import (
    NARROWEST,
    content_without_tokens,
    faults_found_by_axe,
    out_of_reach_of_the_keyboard,
    scrolls_sideways,
)
from tests.browser.states_of_the_desk import STATES
from tests.browser.web_site import WebSite

pytestmark = pytest.mark.django_db(transaction=True)

DESK, LOG = "/admin/newsletters/issues/", "/admin/newsletters/log/"
OF_SCRIPTS = re.compile(r"<script[^>]*></script>|<noscript>.*?</noscript>", re.DOTALL)
# What differs from one reading to the next.
CLOCK = re.compile(r"\b\d\d:\d\d:\d\d\b")


@pytest.fixture
def window(new_page: Callable[..., Page], site: WebSite, author: Any) -> Callable[..., Page]:
    """Opens windows of somebody who is signed in."""
    return lambda **options: signed_in(new_page(**options), site, author)


@pytest.mark.parametrize("state", STATES)
def test_everybody_can_use_it(window: Callable[..., Page], author: Any, state: str) -> None:
    STATES[state](author)
    found: dict[str, object] = {}
    for scheme in ("light", "dark"):
        page = window(color_scheme=scheme)
        for address in (DESK, LOG):
            page.goto(address)
            found[f"axe, {scheme}, {address}"] = faults_found_by_axe(page)
            found[f"out of reach, {scheme}, {address}"] = out_of_reach_of_the_keyboard(page)
    phone = window(viewport=NARROWEST)
    for address in (DESK, LOG, f"{DESK}?show=ended", f"{DESK}?q=nothing+of+the+kind"):
        phone.goto(address)
        found[f"axe, phone, {address}"] = faults_found_by_axe(phone)
        found[f"wider than a phone, {address}"] = scrolls_sideways(phone)

    assert {what: faults for what, faults in found.items() if faults} == {}


@pytest.mark.parametrize("state", STATES)
def test_it_is_the_same_without_scripts(
    window: Callable[..., Page], author: Any, state: str
) -> None:
    STATES[state](author)
    documents = []
    for scripts in (True, False):
        page = window(java_script_enabled=scripts)
        page.goto(DESK)
        documents.append(CLOCK.sub("", OF_SCRIPTS.sub("", content_without_tokens(page))))
    assert documents[0] == documents[1]


def test_an_open_page_follows_what_goes_out_and_says_when_there_is_more_to_see(
    window: Callable[..., Page], author: Any
) -> None:
    STATES["busy"](author)
    edition = Edition.objects.get(title="Swifts leave without saying goodbye")
    page = window()
    page.goto(DESK)
    going = page.locator(f"[data-going=edition-{edition.pk}]")
    expect(going.locator(".tally b")).to_have_text("27")
    title = page.get_by_role("link", name=edition.title).first
    title.focus()

    Batch.objects.filter(edition=edition).update(waiting=5, sent=32)
    expect(going.locator(".tally b")).to_have_text("32")
    expect(page.locator("[data-news]")).to_be_hidden()
    expect(title).to_be_focused()  # nothing was replaced

    Batch.objects.filter(edition=edition).update(waiting=0, sent=37, state="done")
    expect(page.get_by_text("Something has changed since this page was opened.")).to_be_visible()
    page.get_by_role("link", name="Look again").click()
    expect(going).to_have_count(0)


def test_an_alarm_is_looked_at_and_an_issue_found_with_the_keyboard_and_without_scripts(
    window: Callable[..., Page], author: Any
) -> None:
    STATES["busy"](author)
    page = window(java_script_enabled=False)
    page.goto(DESK)
    page.get_by_role("button", name="I have looked at it").press("Enter")
    expect(page.get_by_text("Noted. The alarms stay on the page of the issue.")).to_be_visible()
    expect(page.get_by_text("accepted a second copy")).to_have_count(0)

    page.get_by_role("link", name="Ended").click()
    page.get_by_label("Find an issue").fill("HERONS")
    page.get_by_label("Find an issue").press("Enter")
    expect(page.locator(".issues .title")).to_have_text(["On the patience of herons"])

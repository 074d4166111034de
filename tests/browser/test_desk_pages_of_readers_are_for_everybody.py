"""The desk's pages of readers and imports: by ear, by keyboard, on a phone, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from subscribers.models import Subscriber
from tests.browser.desk_of_readers import (
    ADDRESSES_OF_EMPTY,
    EMPTY,
    FAIR,
    FULL,
    IMPORTS,
    READERS,
    addresses,
    signed_in,
    visit,
)
from tests.browser.for_everybody import (
    NARROWEST,
    content_without_tokens,
    faults_found_by_axe,
    out_of_reach_of_the_keyboard,
    scrolls_sideways,
)
from tests.browser.web_site import WebSite
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

# What is of use with scripts alone, and what stands in for it without.
OF_SCRIPTS = re.compile(r"<script[^>]*></script>|<noscript>.*?</noscript>", re.DOTALL)


@pytest.fixture
def window(new_page: Callable[..., Page], site: WebSite, author: Any) -> Callable[..., Page]:
    """Opens windows of somebody who is signed in."""
    return lambda **options: signed_in(new_page(**options), site, author)


@pytest.fixture
def address(author: Any, name: str) -> str:
    """Where the page of this name is, with everything in the database that it shows."""
    return ADDRESSES_OF_EMPTY[name] if name in EMPTY else addresses(author)[name]


@pytest.mark.parametrize("name", [*EMPTY, *FULL])
def test_everybody_can_use_the_page(window: Callable[..., Page], name: str, address: str) -> None:
    found: dict[str, object] = {}
    for scheme in ("light", "dark"):
        page = window(color_scheme=scheme)
        visit(page, name, address)
        found[f"axe, {scheme}"] = faults_found_by_axe(page)
        found[f"out of reach, {scheme}"] = out_of_reach_of_the_keyboard(page)

    phone = window(viewport=NARROWEST)
    visit(phone, name, address)
    found["axe, on a phone"] = faults_found_by_axe(phone)
    found["out of reach, on a phone"] = out_of_reach_of_the_keyboard(phone)
    found["wider than a phone"] = scrolls_sideways(phone)

    assert {what: faults for what, faults in found.items() if faults} == {}


@pytest.mark.parametrize("name", [*EMPTY, *FULL])
def test_the_page_is_the_same_without_scripts(
    window: Callable[..., Page], name: str, address: str
) -> None:
    """So what axe found of the one holds for the other, where axe itself could not run."""
    documents = []
    for scripts in (True, False):
        page = window(java_script_enabled=scripts)
        visit(page, name, address)
        documents.append(OF_SCRIPTS.sub("", content_without_tokens(page)))
    assert documents[0] == documents[1]


def test_what_was_just_done_fits_a_small_phone(window: Callable[..., Page]) -> None:
    reader = SubscriberFactory()
    page = window(viewport=NARROWEST)
    for name, done in (
        ("Shut the address out", "Shut out. Nothing is mailed to this address."),
        ("Erase", "Erased. Nothing is held about this reader any more."),
    ):
        page.goto(f"{READERS}{reader.pk}/")
        page.get_by_role("link", name=name).click()
        page.locator(".sheet button").click()
        expect(page.get_by_role("status")).to_have_text(done)
        assert not scrolls_sideways(page)
        assert faults_found_by_axe(page) == []


def test_a_list_is_imported_without_scripts(window: Callable[..., Page], site: WebSite) -> None:
    page = window(java_script_enabled=False)
    page.goto(IMPORTS)
    file = {"name": "village-fair.csv", "mimeType": "text/csv", "buffer": FAIR}
    page.get_by_label("A list of readers").set_input_files(files=[file])  # type: ignore[list-item]
    page.get_by_role("button", name="Upload and check").click()
    expect(page.get_by_text("It waits for a worker")).to_be_visible()

    with site.worker():
        # The page loads itself again until there is something to decide.
        page.get_by_label("These people gave their consent elsewhere").check()
        page.get_by_label("Where and how").fill("Signed list at the village fair")
        page.get_by_role("button", name="Import 4 readers as confirmed").click()
        expect(page.get_by_text("Imported. Of 7 rows, 4 were added")).to_be_visible(timeout=20_000)

    assert Subscriber.objects.filter(state="confirmed").count() == 4
    page.get_by_role("navigation", name="Desk").get_by_role("link", name="Readers").click()
    expect(page.get_by_role("link", name="lidia.ramos@weir.example.org")).to_be_visible()

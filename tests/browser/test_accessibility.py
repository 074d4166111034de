"""Every page: screen reader, keyboard, dark scheme, small phone, no scripts."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import unified_diff
from types import MappingProxyType
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.views.defaults import bad_request, server_error
from playwright.sync_api import Page, expect

from delivery.models import Newsletter
from idempotency.claim import slot_locks
from tests.browser.pages import admin_pages, desk_reader_pages
from tests.browser.pages import desk_pages as of_the_desk
from tests.browser.pages.accessibility import (
    LONGEST,
    NARROWEST,
    Pages,
    Shown,
    content,
    faults_in_language,
    faults_of,
)
from tests.browser.pages.author_pages import pages_of_authors
from tests.browser.pages.dashboard_states import a_year, busy, first_issue, overview
from tests.browser.pages.desk_pages import DESK, at, begun
from tests.browser.pages.public_pages import IN_EVERY_LANGUAGE, reader_pages

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

Windows = Callable[..., Page]
# If a script of the page wants to post later, record the delay instead of posting.
HOLD_POSTS = """window.delays = [];
const wait = window.setTimeout;
window.setTimeout = (task, ...rest) =>
  String(task).includes("requestSubmit") ? delays.push(rest[0]) : wait(task, ...rest);"""
# These documents are the same without scripts, so axe's result applies to both versions.
SAME_WITHOUT_SCRIPTS: Mapping[str, Callable[[Any], Pages]] = MappingProxyType(
    {
        "readers": desk_reader_pages.readers,
        "no readers": desk_reader_pages.no_readers,
        "the desk, nothing": overview(str),
        "the desk, first issue": overview(first_issue),
        "the desk, busy": overview(busy),
        "the desk, a year": overview(a_year),
    }
)
WITH_SCRIPTS: Mapping[str, Callable[[Any], Pages]] = MappingProxyType(
    {
        "readers acted on": desk_reader_pages.readers_acted_on,
        "settings and export": desk_reader_pages.settings_and_export,
        "past issues": desk_reader_pages.moving_issues,
        "composer": of_the_desk.composer,
        "pictures": of_the_desk.pictures,
        "publishing": of_the_desk.publishing,
        "second person": of_the_desk.second_person,
        "test letters": of_the_desk.marked_letters,
        "watching": of_the_desk.watching,
        "receipts": of_the_desk.receipts,
        "tokens": of_the_desk.tokens,
        "authors": pages_of_authors,
        "welcome letter": of_the_desk.welcome_letter,
    }
)
# The main pages of the desk, which also open in a German window.
IN_GERMAN = frozenset(
    (
        *(f"{DESK}issues/", f"{DESK}log/", "readers", "filtered", "add a reader", "edit a reader"),
        *("reader bounced", "erase many", "a form elsewhere", "imports", "import checked", "undo"),
        *("import finished with rejects", "settings", "newsletter settings", "look", "no export"),
        *("sender, with errors", "a new field", "no move", "a draft", "a draft in HTML"),
        *("throw away", "a sheet full of faults", "the question", "unconfirmed"),
        *("a rehearsal with a refused reader", "her own draft", "accepted", "held", "stopped"),
        *("missed", "held: cancel", "another time", "the receipt of a correction", "receipts"),
        *("authors", "one author", "profile", "leave"),
        *("no picture yet", "a fresh token", "on", "the menu of videos", "the snippets"),
    )
)


def faults_on(
    pages: Pages, page: Page, plain: Page | None = None, german: Page | None = None
) -> dict[str, object]:
    """Visit each page once, and again without scripts and in German."""
    found: dict[str, object] = {}
    for name, shown in pages.items():
        shown.visit(page)
        document = content(page)
        found |= {f"{name}: {what}": faults for what, faults in faults_of(page).items()}
        if plain is not None:
            # Use a new tab: without scripts some pages load again every few seconds, which would
            # interrupt the next visit in the same tab.
            tab = plain.context.new_page()
            shown.visit(tab)
            if lines := list(unified_diff(document.split("\n"), content(tab).split("\n"), n=0)):
                found[f"{name}: without scripts"] = lines
            tab.close()
        if german is not None and name in IN_GERMAN:
            Shown(shown.address).visit(german)
            faults = faults_in_language(german, "de")
            found |= {f"{name}: {what}": one for what, one in faults.items()}
    return found


def test_reader_pages_are_accessible_without_scripts(new_page: Windows, author: Any) -> None:
    page, scripts = new_page(), []
    page.on("request", lambda one: one.resource_type == "script" and scripts.append(one.url))
    assert faults_on(reader_pages(author), page, new_page(java_script_enabled=False)) == {}
    assert {url.rpartition("/")[2].partition(".")[0] for url in scripts} == {"copy"}


def test_reader_pages_are_accessible_in_every_language(new_page: Windows, author: Any) -> None:
    pages = reader_pages(author)
    found: dict[str, object] = {}
    for code, _name in settings.LANGUAGES[1:]:
        Newsletter.objects.update(language=code)
        page = new_page(viewport=NARROWEST)  # a new page, whose cache has no other language
        for name in IN_EVERY_LANGUAGE:
            replace(pages[name], heading="").visit(page)
            found |= {
                f"{name}: {what}": one for what, one in faults_in_language(page, code).items()
            }
    assert found == {}


def german(new_page: Windows, author: Any) -> Page:
    return new_page(author, viewport=NARROWEST, locale="de-DE")


@pytest.mark.parametrize("group", SAME_WITHOUT_SCRIPTS)
def test_page_is_accessible_and_the_same_without_scripts(
    new_page: Windows, author: Any, group: str
) -> None:
    pages = SAME_WITHOUT_SCRIPTS[group](author)
    windows = [new_page(author, java_script_enabled=on) for on in (True, False)]
    assert faults_on(pages, *windows, german=german(new_page, author)) == {}


@pytest.mark.parametrize("group", WITH_SCRIPTS)
def test_every_page_of_the_desk_is_accessible(
    new_page: Windows, author: Any, readers: Any, group: str
) -> None:
    pages = WITH_SCRIPTS[group](author)
    assert faults_on(pages, new_page(author), german=german(new_page, author)) == {}


def test_every_page_of_the_administration_is_accessible(
    new_page: Windows, transactional_db: None
) -> None:
    found: dict[str, object] = {}
    for who, pages in admin_pages.administration().items():
        found |= faults_on(pages, new_page(who))
    assert found == {}


def test_the_first_tab_stop_skips_the_head_of_a_page(new_page: Windows, author: Any) -> None:
    page = new_page(author)
    page.goto(f"{DESK}write/")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_page_that_waits_for_a_first_click_is_accessible(
    new_page: Windows, author: Any, readers: Any, database_url: str
) -> None:
    draft = begun(author)
    page = new_page(author)
    # Hold repeated posts, because the page would post again before the check is complete.
    page.add_init_script(HOLD_POSTS)
    page.goto(at(draft, "publish/"))
    with psycopg.connect(database_url, autocommit=True) as others:
        for slot in slot_locks(author.pk, draft.key):  # these locks take every slot of this key
            others.execute("SELECT pg_advisory_lock(%s)", [slot])
        page.get_by_role("button", name="Publish to").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Your first click is still")
        # The script runs after the page is shown.
        shown = "while (!delays.length) await new Promise(requestAnimationFrame); return delays"
        assert page.evaluate(f"async () => {{ {shown} }}") == [1000]
        assert faults_of(page) == {}


def test_error_pages_are_accessible(new_page: Windows, author: Any, client: Client) -> None:
    """In tests `DEBUG` is off, so Django shows Homing's error pages."""
    request = RequestFactory().get("/")
    client.force_login(author)
    answers = {
        "not found": client.get(f"{DESK}drafts/{uuid.uuid4()}/", secure=True),
        "not found, signed out": Client().get(f"/{LONGEST}/", secure=True),
        "bad request": bad_request(request, ValueError()),
        "server error": server_error(request),
    }

    def shown(answer: HttpResponse) -> Shown:
        def give(page: Page) -> None:
            page.route(
                "**/of-an-error/",
                lambda route: route.fulfill(content_type="text/html", body=answer.content),
            )
            page.goto("/of-an-error/")

        return Shown("/", give)

    assert faults_on({name: shown(answer) for name, answer in answers.items()}, new_page()) == {}

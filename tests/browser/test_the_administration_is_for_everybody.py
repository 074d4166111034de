"""Django's own pages, as they are served here: by ear, by keyboard, in the dark, on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.urls import URLPattern, URLResolver, resolve
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize, expect

from delivery.models import Newsletter
from tests.browser.desk_of_readers import LONGEST as LONGEST_ADDRESS
from tests.browser.desk_of_readers import signed_in
from tests.browser.for_everybody import (
    NARROWEST,
    faults_found_by_axe,
    out_of_reach_of_the_keyboard,
    scrolls_sideways,
)
from tests.browser.states_of_the_desk import LONGEST
from tests.browser.web_site import WebSite

pytestmark = pytest.mark.django_db(transaction=True)

ADMIN = "/admin/"
AUTHORS, GROUPS = f"{ADMIN}newsletter_site/user/", f"{ADMIN}auth/group/"
LOG, NEWSLETTER = f"{ADMIN}admin/logentry/", f"{ADMIN}delivery/newsletter/"
DESKTOP = ViewportSize(width=1280, height=720)
# One more than one page of a list holds.
ENTRIES = 101
PERMISSIONS_TO_LOOK = ("view_user", "view_group", "view_logentry", "view_newsletter")
# They answer scripts, lead elsewhere, or refuse everybody (tests/publishing/test_the_admin.py).
NO_PAGES = frozenset(
    {
        "autocomplete",
        "jsi18n",
        "view_on_site",
        "admin_logentry_add",
        "admin_logentry_delete",
        "delivery_newsletter_add",
        "delivery_newsletter_delete",
    }
)


@pytest.fixture
def operator(transactional_db: None) -> Any:
    """An operator who may do everything, and whose name no line of a phone can hold."""
    return get_user_model().objects.create_superuser(LONGEST, password="a long password")


# --- What is done on a page before it is looked at ------------------------------------------------


def _press(button: str) -> Callable[[Page], None]:
    def press(page: Page) -> None:
        with page.expect_navigation():
            page.get_by_role("button", name=button, exact=True).click()

    return press


def _change_password_badly(page: Page) -> None:
    for field in page.locator("input[type=password]").all():
        field.fill("1")
    _press("Change my password")(page)


def _set_password_badly(page: Page) -> None:
    words = ("a long password", "1", "2")
    for field, word in zip(page.locator("input[type=password]").all(), words, strict=True):
        field.fill(word)
    _press("Change password")(page)


def _look_for_another_group(page: Page) -> None:
    page.locator("#id_groups_selected_input").press_sequentially("zzz")
    expect(page.get_by_text("1 selected option not visible")).to_be_visible()


def _name_no_zone(page: Page) -> None:
    page.get_by_label("Time zone:").fill(LONGEST)
    _press("Save")(page)


def _delete_some(page: Page) -> None:
    for box in page.locator("input.action-select").all():
        box.check()
    page.get_by_label("Action:").select_option("delete_selected")
    _press("Go")(page)


DONE_THERE: Mapping[str, Callable[[Page], None]] = MappingProxyType(
    {
        "authors, none selected": _press("Go"),
        "delete authors": _delete_some,
        "add an author, with errors": _press("Save"),
        "an author, some of whose groups are not shown": _look_for_another_group,
        "an author saved": _press("Save and continue editing"),
        "set a password, with errors": _set_password_badly,
        "add a group, with errors": _press("Save"),
        "delete groups": _delete_some,
        "newsletter, with errors": _name_no_zone,
        "own password, with errors": _change_password_badly,
        "signed out": _press("Log out"),
    }
)


# --- The pages ------------------------------------------------------------------------------------


def _things(operator: Any) -> tuple[Any, Group, LogEntry]:
    """An author, a group and an entry of the log, each with the longest of names."""
    author = get_user_model().objects.create_user(
        LONGEST.upper(),
        password="a long password",
        email=LONGEST_ADDRESS,
        first_name=LONGEST,
        last_name=LONGEST,
        is_staff=True,
    )
    group = Group.objects.create(name=LONGEST)
    to_look = Permission.objects.filter(codename__in=PERMISSIONS_TO_LOOK)
    group.permissions.set(to_look)
    author.groups.set([group])
    author.user_permissions.set(to_look)
    Newsletter.objects.the_one()
    Newsletter.objects.update(name=LONGEST, reply_to="", time_zone="Europe/Lisbon")
    now = timezone.now()
    entries = LogEntry.objects.bulk_create(
        LogEntry(
            action_time=now - timedelta(days=30 * number),
            user=operator,
            content_type=ContentType.objects.get_for_model(thing),
            object_id=thing.pk,
            object_repr=LONGEST * 2,
            action_flag=CHANGE,
            change_message=f"Changed {LONGEST}.",
        )
        for number in range(ENTRIES // 2 + 1)
        for thing in (author, group)
    )
    return author, group, entries[0]


def addresses(author: Any, group: Group, entry: LogEntry) -> dict[str, str]:
    """Every page that an operator comes to, in this order: what changes something comes late."""
    year = timezone.now().year - 1
    return {
        "index": ADMIN,
        "accounts and groups": f"{ADMIN}auth/",
        "people": f"{ADMIN}newsletter_site/",
        "the log alone": f"{ADMIN}admin/",
        "the newsletter alone": f"{ADMIN}delivery/",
        "authors": AUTHORS,
        "authors found, filtered, counted and sorted": (
            f"{AUTHORS}?q={LONGEST[:9]}&is_staff__exact=1&o=1.-2&_facets=True"
        ),
        "no authors found": f"{AUTHORS}?q=nobody",
        "authors, none selected": AUTHORS,
        "delete authors": AUTHORS,
        "add an author": f"{AUTHORS}add/",
        "add an author, with errors": f"{AUTHORS}add/",
        "an author": f"{AUTHORS}{author.pk}/change/",
        "an author, some of whose groups are not shown": f"{AUTHORS}{author.pk}/change/",
        "an author saved": f"{AUTHORS}{author.pk}/change/",
        "an author’s history": f"{AUTHORS}{author.pk}/history/",
        "set a password": f"{AUTHORS}{author.pk}/password/",
        "set a password, with errors": f"{AUTHORS}{author.pk}/password/",
        "delete an author": f"{AUTHORS}{author.pk}/delete/",
        "no such author": f"{AUTHORS}{LONGEST}/change/",
        "groups": GROUPS,
        "delete groups": GROUPS,
        "add a group": f"{GROUPS}add/",
        "add a group, with errors": f"{GROUPS}add/",
        "add a group, in a window of its own": f"{GROUPS}add/?_to_field=id&_popup=1",
        "a group": f"{GROUPS}{group.pk}/change/",
        "a group’s history": f"{GROUPS}{group.pk}/history/",
        "delete a group": f"{GROUPS}{group.pk}/delete/",
        "the log, the second page": f"{LOG}?p=2",
        "the log of a year": f"{LOG}?action_time__year={year}",
        "an entry of the log": f"{LOG}{entry.pk}/change/",
        "an entry’s history": f"{LOG}{entry.pk}/history/",
        "newsletter": NEWSLETTER,
        "newsletter, with errors": f"{NEWSLETTER}1/change/",
        "the newsletter’s history": f"{NEWSLETTER}1/history/",
        "own password": f"{ADMIN}password_change/",
        "own password, with errors": f"{ADMIN}password_change/",
        "own password changed": f"{ADMIN}password_change/done/",
        "signed out": ADMIN,
        "sign in": f"{ADMIN}login/",
    }


def _only_looking(author: Any, group: Group, entry: LogEntry) -> dict[str, str]:
    """Pages that are others for who may see everything and change nothing."""
    return {
        "index, only looking": ADMIN,
        "authors, only looking": AUTHORS,
        "an author, only looking": f"{AUTHORS}{author.pk}/change/",
        "a group, only looking": f"{GROUPS}{group.pk}/change/",
        "newsletter, only looking": f"{NEWSLETTER}1/change/",
    }


def _names(patterns: Iterable[URLPattern | URLResolver]) -> set[str]:
    """The names of all addresses below."""
    names: set[str] = set()
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            names |= _names(pattern.url_patterns)
        elif pattern.name:
            names.add(pattern.name)
    return names


def test_no_page_is_forgotten_here(operator: Any) -> None:
    """Whoever registers one more model is sent here."""
    addressed = {
        resolve(address.partition("?")[0]).url_name
        for address in addresses(*_things(operator)).values()
    }
    # Signing out is a press of a button on the index.
    assert _names(admin.site.get_urls()) - NO_PAGES - {"logout"} == addressed


# --- Looking at them ------------------------------------------------------------------------------

# Where every colour and every part stands: buttons, messages, what is wrong, tables and fields.
LOOKED_AT_IN_EVERY_WINDOW = frozenset(
    {
        "index",
        "authors found, filtered, counted and sorted",
        "no authors found",
        "add an author, with errors",
        "an author saved",
        "an author, some of whose groups are not shown",
        "delete an author",
        "no such author",
        "the log, the second page",
        "newsletter, only looking",
    }
)


def _come_to(page: Page, name: str, address: str) -> None:
    page.goto(address)
    DONE_THERE.get(name, lambda _page: None)(page)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)


@pytest.fixture
def everybodys_pages(operator: Any) -> list[tuple[Any, dict[str, str]]]:
    """Who comes to which pages."""
    things = _things(operator)
    nobody = get_user_model().objects.create_user(f"{LONGEST}-", is_staff=True)
    return [
        (operator, addresses(*things)),
        (things[0], _only_looking(*things)),
        (nobody, {"index, nothing to see": ADMIN}),
    ]


# Some forty pages in one browser, which takes its time on a busy machine.
@pytest.mark.timeout(600)
def test_every_page_is_for_everybody(
    new_page: Callable[..., Page], site: WebSite, everybodys_pages: list[tuple[Any, dict[str, str]]]
) -> None:
    """In windows that also fail on what the content security policy refuses."""
    found: dict[str, object] = {}
    for who, pages in everybodys_pages:
        page = signed_in(new_page(color_scheme="light"), site, who)
        for name, address in pages.items():
            _come_to(page, name, address)
            found[f"axe: {name}"] = faults_found_by_axe(page)
            page.set_viewport_size(NARROWEST)
            found[f"scrolls sideways: {name}"] = scrolls_sideways(page)
            page.set_viewport_size(DESKTOP)
    assert {what: faults for what, faults in found.items() if faults} == {}


@pytest.mark.timeout(600)
def test_the_pages_that_differ_most_are_for_everybody_on_a_phone_and_in_dark_too(
    new_page: Callable[..., Page], site: WebSite, everybodys_pages: list[tuple[Any, dict[str, str]]]
) -> None:
    found: dict[str, object] = {}
    for who, pages in everybodys_pages:
        for kind in ({"viewport": NARROWEST}, {"color_scheme": "dark"}):
            page = signed_in(new_page(**kind), site, who)
            for name in LOOKED_AT_IN_EVERY_WINDOW & pages.keys():
                _come_to(page, name, pages[name])
                found[f"axe, {kind}: {name}"] = faults_found_by_axe(page)
    assert len(found) == 2 * len(LOOKED_AT_IN_EVERY_WINDOW)
    assert {what: faults for what, faults in found.items() if faults} == {}


FILL_THE_LINE = """heading => {
  heading.textContent = "W";
  const line = heading.offsetHeight;
  while (heading.offsetHeight === line) heading.textContent += "W";
  heading.textContent = heading.textContent.slice(0, -1);
  const words = document.createRange();
  words.selectNodeContents(heading);
  const name = words.getBoundingClientRect();
  const button = document.querySelector(".historylink").getBoundingClientRect();
  return {
    isNear: name.bottom > button.top - line,
    isUnder: name.right > button.left && name.bottom > button.top && name.top < button.bottom,
  };
}"""


@pytest.mark.parametrize("width", [1025, DESKTOP["width"], 1920])
def test_a_name_as_wide_as_the_page_leaves_the_button_beside_it_alone(
    new_page: Callable[..., Page], site: WebSite, operator: Any, width: int
) -> None:
    author, group, _ = _things(operator)
    page = signed_in(new_page(viewport={"width": width, "height": 800}), site, operator)
    for address in (f"{AUTHORS}{author.pk}/change/", f"{GROUPS}{group.pk}/change/"):
        page.goto(address)
        found = page.locator("#content > h2").evaluate(FILL_THE_LINE)
        assert found == {"isNear": True, "isUnder": False}, address


def test_the_keyboard_comes_to_everything(
    new_page: Callable[..., Page], site: WebSite, operator: Any
) -> None:
    pages = addresses(*_things(operator))
    page = signed_in(new_page(), site, operator)
    found = {}
    for name in ("index", "authors", "an author", "the log of a year", "newsletter"):
        page.goto(pages[name])
        found[name] = out_of_reach_of_the_keyboard(page)
    assert {name: controls for name, controls in found.items() if controls} == {}

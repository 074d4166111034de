"""The pages of Django's administration, as they are served here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone
from playwright.sync_api import Page, expect

from delivery.models import Newsletter
from tests.browser.for_everybody import LONGEST, LONGEST_ADDRESS, Pages, Shown

ADMIN = "/admin/"
AUTHORS, GROUPS = f"{ADMIN}newsletter_site/user/", f"{ADMIN}auth/group/"
LOG, NEWSLETTER = f"{ADMIN}admin/logentry/", f"{ADMIN}delivery/newsletter/"
# One more than one page of a list holds.
ENTRIES = 101
PERMISSIONS_TO_LOOK = ("view_user", "view_group", "view_logentry", "view_newsletter")


def _press(button: str) -> Callable[[Page], None]:
    def press(page: Page) -> None:
        with page.expect_navigation():
            page.get_by_role("button", name=button, exact=True).click()

    return press


def _bad_passwords(button: str) -> Callable[[Page], None]:
    def change(page: Page) -> None:
        for field in page.locator("input[type=password]").all():
            field.fill("1")
        _press(button)(page)

    return change


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


def things(operator: Any) -> tuple[Any, Group, LogEntry]:
    """Make an author, a group and an entry of the log, each with the longest of names."""
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


def addresses(author: Any, group: Group, entry: LogEntry) -> Pages:
    """Every page that an operator comes to, in this order: what changes something comes late."""
    change, its_group = f"{AUTHORS}{author.pk}/", f"{GROUPS}{group.pk}/"
    settings = f"{NEWSLETTER}1/"
    return {
        "index": Shown(ADMIN),
        "accounts and groups": Shown(f"{ADMIN}auth/"),
        "people": Shown(f"{ADMIN}newsletter_site/"),
        "the log alone": Shown(f"{ADMIN}admin/"),
        "the newsletter alone": Shown(f"{ADMIN}delivery/"),
        "authors": Shown(AUTHORS),
        "authors found, filtered, counted and sorted": Shown(
            f"{AUTHORS}?q={LONGEST[:9]}&is_staff__exact=1&o=1.-2&_facets=True"
        ),
        "no authors found": Shown(f"{AUTHORS}?q=nobody"),
        "authors, none selected": Shown(AUTHORS, _press("Go")),
        "delete authors": Shown(AUTHORS, _delete_some),
        "add an author": Shown(f"{AUTHORS}add/"),
        "add an author, with errors": Shown(f"{AUTHORS}add/", _press("Save")),
        "an author": Shown(f"{change}change/"),
        "some groups not shown": Shown(f"{change}change/", _look_for_another_group),
        "an author saved": Shown(f"{change}change/", _press("Save and continue editing")),
        "an author’s history": Shown(f"{change}history/"),
        "set a password": Shown(f"{change}password/"),
        "set a password, with errors": Shown(
            f"{change}password/", _bad_passwords("Change password")
        ),
        "delete an author": Shown(f"{change}delete/"),
        "no such author": Shown(f"{AUTHORS}{LONGEST}/change/"),
        "groups": Shown(GROUPS),
        "delete groups": Shown(GROUPS, _delete_some),
        "add a group": Shown(f"{GROUPS}add/"),
        "add a group, with errors": Shown(f"{GROUPS}add/", _press("Save")),
        "add a group, in a window of its own": Shown(f"{GROUPS}add/?_to_field=id&_popup=1"),
        "a group": Shown(f"{its_group}change/"),
        "a group’s history": Shown(f"{its_group}history/"),
        "delete a group": Shown(f"{its_group}delete/"),
        "the log, the second page": Shown(f"{LOG}?p=2"),
        "the log of a year": Shown(f"{LOG}?action_time__year={timezone.now().year - 1}"),
        "an entry of the log": Shown(f"{LOG}{entry.pk}/change/"),
        "an entry’s history": Shown(f"{LOG}{entry.pk}/history/"),
        "newsletter": Shown(NEWSLETTER),
        "newsletter, with errors": Shown(f"{settings}change/", _name_no_zone),
        "the newsletter’s history": Shown(f"{settings}history/"),
        "own password": Shown(f"{ADMIN}password_change/"),
        "own password, with errors": Shown(
            f"{ADMIN}password_change/", _bad_passwords("Change my password")
        ),
        "own password changed": Shown(f"{ADMIN}password_change/done/"),
        "signed out": Shown(ADMIN, _press("Log out")),
        "sign in": Shown(f"{ADMIN}login/"),
    }


def operator() -> Any:
    """An operator who may do everything, and whose name no line of a phone can hold."""
    return get_user_model().objects.create_superuser(LONGEST, password="a long password")


def administration(_author: Any) -> dict[Any, Pages]:
    """Who comes to which pages: some are others for those who may see and change nothing."""
    who = operator()
    author, group, entry = things(who)
    every = addresses(author, group, entry)
    seen = ("index", "authors", "an author", "a group", "newsletter")
    nobody = get_user_model().objects.create_user(f"{LONGEST}-", is_staff=True)
    return {
        who: every,
        author: {f"{name}, only looking": every[name] for name in seen},
        nobody: {
            "index, nothing to see": every["index"],
            "not allowed": Shown("/admin/newsletters/issues/", heading="This page is not open"),
        },
    }

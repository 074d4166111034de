"""Pages of Django's administration as Homing serves them."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.test import RequestFactory
from playwright.sync_api import Page

from delivery.models import Newsletter
from tests.browser.pages.accessibility import LONGEST, LONGEST_ADDRESS, Pages, Shown

ADMIN = "/admin/"
AUTHORS, GROUPS = f"{ADMIN}newsletter_site/user/", f"{ADMIN}auth/group/"
PERMISSIONS_TO_LOOK = ("view_user", "view_group", "view_logentry")


def _press(button: str) -> Callable[[Page], None]:
    def press(page: Page) -> None:
        with page.expect_navigation():
            page.get_by_role("button", name=button, exact=True).click()

    return press


def _bad_passwords(page: Page) -> None:
    for field in page.locator("input[type=password]").all():
        field.fill("1")
    _press("Change password")(page)


def _delete_some(page: Page) -> None:
    for box in page.locator("input.action-select").all():
        box.check()
    page.get_by_label("Action:").select_option("delete_selected")
    _press("Go")(page)


def administration() -> dict[Any, Pages]:
    """Return users with different permissions, and their pages.

    All names are the longest possible ones. Pages that change data come last.
    """
    users = get_user_model().objects
    operator = users.create_superuser(LONGEST, password="a long password")
    author = users.create_user(
        LONGEST.upper(), password="a long password", email=LONGEST_ADDRESS,
        first_name=LONGEST, last_name=LONGEST, is_staff=True,
    )  # fmt: skip
    group = Group.objects.create(name=LONGEST)
    to_look = Permission.objects.filter(codename__in=PERMISSIONS_TO_LOOK)
    group.permissions.set(to_look)
    author.groups.set([group])
    author.user_permissions.set(to_look)
    Newsletter.objects.get_current()
    Newsletter.objects.update(name=LONGEST, reply_to="", time_zone="Europe/Lisbon")
    entry = LogEntry.objects.create(
        user=operator, object_id=author.pk, object_repr=LONGEST * 2, action_flag=CHANGE,
        content_type=ContentType.objects.get_for_model(author), change_message=LONGEST,
    )  # fmt: skip
    seen = (ADMIN, AUTHORS, f"{AUTHORS}{author.pk}/change/", f"{GROUPS}{group.pk}/change/")
    return {
        operator: _pages_of_operators(operator, author, group, entry),
        author: {one: Shown(one) for one in seen},
        users.create_user(f"{LONGEST}-", is_staff=True): {
            "index, nothing to see": Shown(ADMIN),
            "not allowed": Shown("/admin/newsletters/issues/", heading="You don’t have access"),
        },
    }


def _pages_of_operators(operator: Any, author: Any, group: Group, entry: LogEntry) -> Pages:
    """Return one administration page of each kind."""
    request = RequestFactory().get("/")
    request.user = operator
    one_of = {type(one): one for one in (author, group, entry, Newsletter.objects.get_current())}
    pages = {"index": Shown(ADMIN)}
    for model, its in admin.site._registry.items():
        app, there = f"{ADMIN}{its.opts.app_label}/", f"{its.opts.model_name}/"
        one = f"{there}{one_of[model].pk}/"
        parts = [there, f"{one}change/", *[f"{there}add/"] * its.has_add_permission(request)]
        if one_of[model] is author:  # These pages look the same for every model.
            parts += ["", f"{one}history/", f"{one}delete/"]
        pages |= {app + part: Shown(app + part) for part in parts}
    change, own = f"{AUTHORS}{author.pk}/change/", f"{ADMIN}password_change/"
    return {
        **pages,
        "authors found, filtered, counted and sorted": Shown(
            f"{AUTHORS}?q={LONGEST[:9]}&is_staff__exact=1&o=1.-2&_facets=True"
        ),
        "no such author": Shown(f"{AUTHORS}{LONGEST}/change/"),
        "authors, none selected": Shown(AUTHORS, _press("Go")),
        "delete authors": Shown(AUTHORS, _delete_some),
        "add an author, with errors": Shown(f"{AUTHORS}add/", _press("Save")),
        "add a group, in a window of its own": Shown(f"{GROUPS}add/?_to_field=id&_popup=1"),
        "an author saved": Shown(change, _press("Save and continue editing")),
        "set a password": Shown(f"{AUTHORS}{author.pk}/password/"),
        "own password": Shown(own),
        "own password, with errors": Shown(own, _bad_passwords),
        "signed out": Shown(ADMIN, _press("Log out")),
        "sign in": Shown(f"{ADMIN}login/"),
    }

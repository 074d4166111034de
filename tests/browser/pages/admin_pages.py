"""Pages of Django's administration as Homing serves them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.test import RequestFactory
from django.utils import timezone
from playwright.sync_api import Page, expect

from delivery.models import Newsletter
from tests.browser.pages.accessibility import LONGEST, LONGEST_ADDRESS, Pages, Shown

ADMIN = "/admin/"
AUTHORS, GROUPS = f"{ADMIN}newsletter_site/user/", f"{ADMIN}auth/group/"
# One more than fit on a page of the list.
ENTRIES = 101
PERMISSIONS_TO_LOOK = ("view_user", "view_group", "view_logentry")


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


def _delete_some(page: Page) -> None:
    for box in page.locator("input.action-select").all():
        box.check()
    page.get_by_label("Action:").select_option("delete_selected")
    _press("Go")(page)


def things(operator: Any) -> tuple[Any, Group, LogEntry]:
    """Create an author, a group and a log entry with the longest possible names."""
    author = get_user_model().objects.create_user(
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
    now = timezone.now()
    entries = LogEntry.objects.bulk_create(
        LogEntry(
            action_time=now - timedelta(days=30 * number), user=operator, object_id=thing.pk,
            content_type=ContentType.objects.get_for_model(thing), object_repr=LONGEST * 2,
            action_flag=CHANGE, change_message=f"Changed {LONGEST}.",
        )
        for number in range(ENTRIES // 2 + 1)
        for thing in (author, group)
    )  # fmt: skip
    return author, group, entries[0]


def addresses(operator: Any, author: Any, group: Group, entry: LogEntry) -> Pages:
    """Return one page of each kind for operators. Pages that change data come last."""
    request = RequestFactory().get("/")
    request.user = operator
    one_of = {type(one): one for one in (author, group, entry, Newsletter.objects.get_current())}
    pages = {"index": Shown(ADMIN)}
    for model, its in admin.site._registry.items():
        app, there = f"{ADMIN}{its.opts.app_label}/", f"{its.opts.model_name}/"
        one = f"{there}{one_of[model].pk}/"
        parts = [there, f"{one}change/", *[f"{there}add/"] * its.has_add_permission(request)]
        if one_of[model] is author:  # These look the same for every model.
            parts += ["", f"{one}history/", f"{one}delete/"]
        pages |= {app + part: Shown(app + part) for part in parts}
    change, log = f"{AUTHORS}{author.pk}/change/", f"{ADMIN}admin/logentry/"
    password, own = f"{AUTHORS}{author.pk}/password/", f"{ADMIN}password_change/"
    year = timezone.now().year - 1
    return {
        **pages,
        "authors found, filtered, counted and sorted": Shown(
            f"{AUTHORS}?q={LONGEST[:9]}&is_staff__exact=1&o=1.-2&_facets=True"
        ),
        "no authors found": Shown(f"{AUTHORS}?q=nobody"),
        "no such author": Shown(f"{AUTHORS}{LONGEST}/change/"),
        "authors, none selected": Shown(AUTHORS, _press("Go")),
        "delete authors": Shown(AUTHORS, _delete_some),
        "delete groups": Shown(GROUPS, _delete_some),
        "add an author, with errors": Shown(f"{AUTHORS}add/", _press("Save")),
        "add a group, with errors": Shown(f"{GROUPS}add/", _press("Save")),
        "add a group, in a window of its own": Shown(f"{GROUPS}add/?_to_field=id&_popup=1"),
        "some groups not shown": Shown(change, _look_for_another_group),
        "an author saved": Shown(change, _press("Save and continue editing")),
        "set a password": Shown(password),
        "set a password, with errors": Shown(password, _bad_passwords("Change password")),
        "the log, the second page": Shown(f"{log}?p=2"),
        "the log of a year": Shown(f"{log}?action_time__year={year}"),
        "own password": Shown(own),
        "own password, with errors": Shown(own, _bad_passwords("Change my password")),
        "own password changed": Shown(f"{own}done/"),
        "signed out": Shown(ADMIN, _press("Log out")),
        "sign in": Shown(f"{ADMIN}login/"),
    }


def operator() -> Any:
    """Create an operator with all permissions and a name wider than a phone."""
    return get_user_model().objects.create_superuser(LONGEST, password="a long password")


def administration() -> dict[Any, Pages]:
    """Return users with different permissions, and their pages."""
    who = operator()
    author, group, entry = things(who)
    nobody = get_user_model().objects.create_user(f"{LONGEST}-", is_staff=True)
    seen = (ADMIN, AUTHORS, f"{AUTHORS}{author.pk}/change/", f"{GROUPS}{group.pk}/change/")
    return {
        who: addresses(who, author, group, entry),
        author: {one: Shown(one) for one in seen},
        nobody: {
            "index, nothing to see": Shown(ADMIN),
            "not allowed": Shown("/admin/newsletters/issues/", heading="You don’t have access"),
        },
    }

"""Every way to change accounts keeps somebody who can publish."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command

from newsletter_site.authors import change_author
from newsletter_site.authors.lock_accounts import AccountRefusedError, accounts_locked
from newsletter_site.models import User
from publishing.desk_roles import ROLES
from tests.newsletter_site.authors.conftest import PASSWORD
from tests.publishing.author_browser import WindowOf
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits

Make = Callable[..., User]


def can_sign_in(author: User) -> bool:
    author.refresh_from_db()
    return author.is_active and author.is_staff


def by_page(ada: User) -> str:
    disabling = WindowOf(ada).post(f"/admin/authors/{ada.pk}/disable/")
    return disabling.words if disabling.status == 409 else ""


def by_leaving(ada: User) -> str:
    page = WindowOf(ada).post("/admin/profile/leave/", do="leave", password_or_code=PASSWORD)
    return page.words if page.status == 409 else ""


def by_new_role(ada: User) -> str:
    page = WindowOf(ada).post(f"/admin/authors/{ada.pk}/role/", role="support")
    return page.words if page.status == 409 else ""


def by_command(ada: User) -> str:
    return refused_command("disable", ada.username)


def by_group_command(ada: User) -> str:
    return refused_command("group", ada.username, "--remove", "Administrators")


def refused_command(*words: str) -> str:
    try:
        call_command("accounts", *words, stdout=io.StringIO())
    except CommandError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("remove", [by_page, by_leaving, by_new_role, by_command, by_group_command])
def test_the_last_administrator_stays(
    remove: Callable[[User], str], ada: User, person: Make
) -> None:
    # Neither of these two can take over: one may not publish, and one has no password.
    person("tove", "Writers")
    ines = person("ines", "Administrators")
    User.objects.filter(pk=ines.pk).update(password="!", last_login=None)
    assert "Nothing was changed: no other account could publish." in remove(ada)
    assert can_sign_in(ada)
    assert [group.name for group in ada.groups.all()] == ["Administrators"]

    ines.set_password(PASSWORD)
    ines.save()
    assert remove(ada) == ""


def test_a_publisher_cannot_replace_the_last_manager_of_authors(ada: User, person: Make) -> None:
    person("ines", "Publishers")
    with pytest.raises(AccountRefusedError, match="no other account could manage authors"):
        change_author.set_active(ada.pk, is_active=False, by=None)
    assert can_sign_in(ada)


def test_the_admin_keeps_the_last_account_too(person: Make) -> None:
    root = person("root", is_superuser=True)
    window = WindowOf(root)
    list_of_accounts = "/admin/newsletter_site/user/"
    chosen = {"action": "delete_selected", "_selected_action": str(root.pk), "post": "yes"}
    window.post(list_of_accounts, **chosen)
    window.post(f"{list_of_accounts}{root.pk}/delete/", post="yes")
    form: dict[str, Any] = (
        window.get(f"{list_of_accounts}{root.pk}/change/").form_with("username").fields
    )
    del form["is_active"]
    window.post(f"{list_of_accounts}{root.pk}/change/", **form)
    assert can_sign_in(root)
    words = window.get(list_of_accounts).words
    assert "Nothing was changed: no other account could publish." in words
    assert "successfully" not in words


def test_two_who_leave_together_do_not_both_leave(ada: User, person: Make) -> None:
    ines = person("ines", "Administrators")
    with accounts_locked():
        User.objects.filter(pk=ada.pk).update(is_active=False)
        second = beside(lambda: change_author.leave(ines.pk, None))
        wait_until_somebody_waits(second)
    with pytest.raises(AccountRefusedError):
        second.result(PATIENCE_S)
    assert can_sign_in(ines)


def test_a_site_without_a_publisher_may_change_other_accounts(person: Make) -> None:
    person("ola", "Operators")
    ines = person("ines", "Managers of readers")
    change_author.set_active(ines.pk, is_active=False, by=None)
    assert not can_sign_in(ines)


def test_roles_are_groups_that_the_migration_makes(person: Make, ada: User) -> None:
    for role in ROLES.values():
        author = person(role.name, role.group)
        assert change_author.role_of(author) == role
    assert change_author.describe_role(person("ola", "Operators")) == "Groups: Operators"
    assert change_author.describe_role(person("liv")) == "No role"
    Group.objects.filter(name="Writers").delete()
    with pytest.raises(AccountRefusedError, match="the group “Writers” is missing"):
        change_author.change_role(author.pk, ROLES["writer"], ada)

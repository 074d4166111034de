"""Add, group, disable and enable accounts, for operators on the command line."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from delivery.control_characters import strip_invisible
from newsletter_site.authors import change_author
from newsletter_site.authors.lock_accounts import AccountRefusedError, accounts_locked
from newsletter_site.models import User
from newsletter_site.sign_in.operator_record import find_author, record_operator


def describe(account: User) -> dict[str, Any]:
    """Return what operators see of an account, as JSON."""
    return {
        "username": account.username,
        "groups": sorted(group.name for group in account.groups.all()),
        "is_active": account.is_active,
        "is_superuser": account.is_superuser,
        "may_sign_in": account.is_active and account.is_staff,
        "has_password": account.has_usable_password(),
        "has_two_step": account.two_step_since is not None,
        "last_sign_in": account.last_login and account.last_login.isoformat(),
    }


def find_groups(names: Iterable[str]) -> list[Group]:
    """Return the groups with these names, or raise `CommandError`."""
    groups = {group.name: group for group in Group.objects.all()}
    for name in names:
        if name not in groups:
            raise CommandError(
                _("There is no group “{name}”. Use one of: {groups}.").format(
                    name=name, groups=", ".join(sorted(groups))
                )
            )
    return [groups[name] for name in names]


def add_account(username: str, email: str, groups: list[Group], password: str | None) -> User:
    """Add an account that can sign in once it has a password, or raise `CommandError`."""
    account = User(username=username, email=strip_invisible(email), is_staff=True)
    try:
        # If two commands add the same name at once, the table's constraint refuses the second one.
        account.full_clean(exclude=["password"])
        if password is not None:
            validate_password(password, account)
    except ValidationError as error:
        raise CommandError(
            _("Nothing was added. {reasons}").format(reasons=" ".join(error.messages))
        ) from None
    account.set_password(password)
    with transaction.atomic():
        account.save()
        account.groups.set(groups)
        record_operator("add_account", account)
    return account


def change_groups(username: str, add: list[Group], remove: list[Group]) -> User:
    """Add an account to groups and remove it from others, or raise `CommandError`."""
    key = find_author(username).pk
    with _as_command_error(), accounts_locked():
        account = change_author.locked(key)
        account.groups.add(*add)
        account.groups.remove(*remove)
        record_operator("change_groups", account)
    return account


def set_active(username: str, is_active: bool) -> User:
    """Disable or enable an account, or raise `CommandError`."""
    key = find_author(username).pk
    with _as_command_error():
        return change_author.set_active(key, is_active, by=None)


@contextmanager
def _as_command_error() -> Iterator[None]:
    try:
        yield
    except AccountRefusedError as error:
        raise CommandError(str(error)) from None

"""Add, group, disable and enable accounts, for operators on the command line."""

import logging
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from delivery import log_context
from delivery.control_characters import strip_invisible
from newsletter_site.models import User
from subscribers.record_activity import record_activity

logger = logging.getLogger(__name__)


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
    """Add an account to groups and remove it from others."""
    with transaction.atomic():
        account = _locked(username)
        account.groups.add(*add)
        account.groups.remove(*remove)
        record_operator("change_groups", account)
    return account


def set_active(username: str, is_active: bool) -> User:
    """Disable or enable an account, as the admin does.

    Repeating the call changes nothing. While an account is disabled, its sessions and API tokens
    are refused.
    """
    with transaction.atomic():
        account = _locked(username)
        others = User.objects.filter(is_active=True, is_superuser=True).exclude(pk=account.pk)
        if account.is_superuser and not is_active and not others.exists():
            raise CommandError(
                _(
                    "“{name}” is the last account that may do everything. Add another one first: "
                    "./homing createsuperuser."
                ).format(name=username)
            )
        if account.is_active != is_active:
            account.is_active = is_active
            account.save(update_fields=["is_active"])
            record_operator("enable_account" if is_active else "disable_account", account)
    return account


def _locked(username: str) -> User:
    key = find_author(username).pk
    return User.objects.select_for_update(no_key=True).get(pk=key)


def find_author(username: str) -> User:
    """Return the author with this user name, or raise `CommandError`."""
    author = User.objects.filter(username=username).first()
    if author is None:
        raise CommandError(
            _("No author has the user name “{username}”. Check the spelling.").format(
                username=username
            )
        )
    return author


def record_operator(code: str, account: User) -> None:
    """Record a change by the operator, and log it.

    Nobody is signed in here, so the entry names the changed account as the user who made the
    change.
    """
    record_activity(code, account.pk, account, from_command_line=True)

    def log() -> None:
        with log_context.scope():
            log_context.bind(author=account.pk)
            logger.info("%s from the command line", code)

    transaction.on_commit(log)

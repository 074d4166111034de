"""Change roles, disable and enable accounts, hand over drafts, and leave."""

import uuid
from dataclasses import dataclass

from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from delivery.models import Edition
from newsletter_site.authors.lock_accounts import AccountRefusedError, accounts_locked
from newsletter_site.authors.open_sessions import end_sessions
from newsletter_site.models import User
from newsletter_site.sign_in.operator_record import record_operator
from newsletter_site.tokens.api_tokens import active_tokens, revoke_all_of
from publishing.desk_permissions import BACKEND, WRITE
from publishing.desk_roles import ROLES, Role
from publishing.display_name import called
from publishing.drafts.hand_over_drafts import drafts_of, hand_over_drafts
from subscribers.record_activity import record_activity


@dataclass(frozen=True, slots=True)
class Work:
    """How much an author leaves behind."""

    drafts: int
    scheduled: int
    tokens: int


def work_of(author: User) -> Work:
    """Count the open drafts, the scheduled issues and the active tokens of an author."""
    scheduled = Edition.objects.filter(author=author, control=Edition.Control.SCHEDULED)
    return Work(
        drafts_of(author.pk).count(), scheduled.count(), active_tokens().filter(user=author).count()
    )


def role_of(author: User) -> Role | None:
    """Return the author's role; None for a superuser or other permissions.

    The groups and the own permissions of the author should be prefetched.
    """
    groups = {group.name for group in author.groups.all()}
    if author.is_superuser or len(groups) != 1 or author.user_permissions.all():
        return None
    return next((role for role in ROLES.values() if role.group in groups), None)


def describe_role(author: User) -> str:
    """Describe the author's role, or the permissions that no role has."""
    role = role_of(author)
    if role:
        return str(role.label)
    if author.is_superuser:
        return _("Operator, may do everything")
    groups = sorted(group.name for group in author.groups.all())
    if author.user_permissions.all():
        groups.append(_("own permissions"))
    return _("Groups: {groups}").format(groups=", ".join(groups)) if groups else _("No role")


def group_of(role: Role) -> Group:
    """Return the group of a role.

    Raise `AccountRefusedError` if an operator deleted it.
    """
    group = Group.objects.filter(name=role.group).first()
    if group is None:
        raise AccountRefusedError(
            _("Nothing was changed: the group “{name}” is missing. Ask the operator.").format(
                name=role.group
            )
        )
    return group


def successors_of(author: User) -> QuerySet[User]:
    """Select the authors who can take over drafts."""
    writers = User.objects.with_perm(WRITE, backend=BACKEND).filter(is_staff=True)
    return writers.exclude(pk=author.pk).order_by("first_name", "last_name", "username")


def locked(key: uuid.UUID) -> User:
    """Return the account, locked until the transaction ends.

    Raise `AccountRefusedError` if it was deleted.
    """
    account = User.objects.select_for_update(no_key=True).filter(pk=key).first()
    if account is None:
        raise AccountRefusedError(_("Nothing was changed: this account was deleted."))
    return account


def change_role(key: uuid.UUID, role: Role, by: User) -> None:
    """Give an author exactly this role. Raise `AccountRefusedError`."""
    with accounts_locked():
        author = locked(key)
        _refuse_superuser(author, by)
        if role_of(author) == role:
            return
        author.groups.set([group_of(role)])
        author.user_permissions.clear()
        record_activity("change_role", by.pk, author, role=role.name)


def set_active(key: uuid.UUID, is_active: bool, by: User | None) -> User:
    """Disable or enable an account; `by` is None for the operator's command.

    Repeating the call changes nothing. While an account is disabled, its sessions and API tokens
    are refused. Raise `AccountRefusedError`.
    """
    with accounts_locked():
        author = locked(key)
        if by is not None:
            _refuse_superuser(author, by)
        if author.is_active == is_active:
            return author
        author.is_active, author.left_at = is_active, None
        author.save(update_fields=["is_active", "left_at"])
        if by is None:
            record_operator("enable_account" if is_active else "disable_account", author)
        else:
            record_activity("enable_author" if is_active else "disable_author", by.pk, author)
    return author


def hand_over(key: uuid.UUID, successor: User, by: User) -> int:
    """Hand over the author's open drafts; return how many.

    Raise `AccountRefusedError` if the successor can no longer write.
    """
    with accounts_locked():
        return _hand_over(locked(key), successor, by)


def leave(key: uuid.UUID, successor: User | None) -> None:
    """Disable one's own account, and end its sessions and tokens for good.

    Raise `AccountRefusedError`. Issues, and drafts without a successor, stay under the name.
    """
    with accounts_locked():
        author = locked(key)
        if successor is not None:
            _hand_over(author, successor, author)
        User.objects.filter(pk=key).update(is_active=False, left_at=Now())
        end_sessions(author)
        revoke_all_of(author)
        record_activity("leave", author.pk, author)


def _hand_over(author: User, successor: User, by: User) -> int:
    if not successors_of(author).filter(pk=successor.pk).exists():
        raise AccountRefusedError(
            _("Nothing was changed: {name} can no longer take over drafts.").format(
                name=called(successor)
            )
        )
    drafts = hand_over_drafts(author.pk, successor.pk)
    if drafts:
        record_activity("hand_over", by.pk, author, drafts=drafts, to=called(successor))
    return drafts


def _refuse_superuser(author: User, by: User) -> None:
    if author.is_superuser and not by.is_superuser:
        raise AccountRefusedError(
            _(
                "Nothing was changed: this account belongs to an operator, who changes it on the "
                "command line."
            )
        )

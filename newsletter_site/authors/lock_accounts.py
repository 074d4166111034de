"""Keep an account that may publish, and an account that may manage authors.

Pages, commands and the admin change accounts under one lock. Two people who leave at the same time
cannot both rely on the other one.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _

from newsletter_site.models import Invitation, User
from publishing.desk_permissions import BACKEND, MANAGE_AUTHORS, PUBLISH

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('accounts', 0))"
_LAST = {
    PUBLISH: _(
        "Nothing was changed: no other account could publish. First give another author, who has a "
        "password, the role Publisher or Administrator."
    ),
    MANAGE_AUTHORS: _(
        "Nothing was changed: no other account could manage authors. First give another author, "
        "who has a password, the role Administrator."
    ),
}


class AccountRefusedError(ValueError):
    """Nothing was changed. The text says why, and what to do."""


@contextmanager
def accounts_locked() -> Iterator[None]:
    """Change accounts in a transaction, after all others that change accounts.

    Raise `AccountRefusedError` if the change leaves nobody who may publish or manage authors. The
    invitations of everybody who no longer manages authors are withdrawn. The lock of the accounts
    comes before the locks of rows.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK)
        before = _held()
        yield
        lost = before - _held()
        for permission, sentence in _LAST.items():
            if permission in lost:
                raise AccountRefusedError(str(sentence))
        managers = User.objects.with_perm(MANAGE_AUTHORS, backend=BACKEND).filter(is_staff=True)
        Invitation.objects.exclude(invited_by__in=managers).delete()


def _held() -> set[str]:
    """Return which of the permissions an account has that can sign in."""
    return {one for one in _LAST if _holders_exist(one)}


def _holders_exist(permission: str) -> bool:
    holders = User.objects.with_perm(permission, backend=BACKEND).filter(is_staff=True)
    # An account that was added without a password cannot replace anybody yet.
    never = {"password__startswith": UNUSABLE_PASSWORD_PREFIX, "last_login": None}
    return holders.exclude(**never).exists()

"""The methods by which an author signs in, and rules for all changes of them.

The last method stays, and a change ends the author's sessions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from newsletter_site.models import User


class SignInMethod(StrEnum):
    """What an author signs in with."""

    PASSWORD = "password"  # noqa: S105 -- not a password
    PASSKEY = "passkey"
    ORGANISATION = "organisation"


@contextmanager
def locked_author(author: Any) -> Iterator[None]:
    """Allow an account one transaction at a time.

    Otherwise two removals at once could take both methods that are left.
    """
    with transaction.atomic():
        User.objects.select_for_update().get(pk=author.pk)
        yield


def is_last_method(author: Any, *, passkeys: int = 0, accounts: int = 0) -> bool:
    """Return whether the author could not sign in without these methods.

    `passkeys` and `accounts` are the numbers of passkeys and of linked accounts to remove.
    """
    if author.has_usable_password() or author.passkeys.count() > passkeys:
        return False
    linked = author.organisation_accounts.filter(issuer=settings.OIDC_ISSUER).count()
    return not settings.OIDC_ISSUER or linked <= accounts


def two_step_methods(author: Any) -> set[SignInMethod]:
    """Return the methods of the author that count as two steps, besides codes."""
    found = {SignInMethod.PASSKEY} if author.passkeys.exists() else set()
    accounts = author.organisation_accounts.filter(issuer=settings.OIDC_ISSUER)
    if settings.OIDC_ISSUER and settings.OIDC_IS_TWO_STEP and accounts.exists():
        found.add(SignInMethod.ORGANISATION)
    return found


def invalidate_sessions(author: Any) -> None:
    """End all sessions of the author.

    The sessions end because a session's hash depends on this time (`User`).
    """
    author.sign_in_methods_changed_at = Now()
    author.save(update_fields=["sign_in_methods_changed_at"])
    author.refresh_from_db(fields=["sign_in_methods_changed_at"])

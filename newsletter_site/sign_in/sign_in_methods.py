"""The methods by which an author signs in, and rules for all changes of them.

The last method stays, and a change ends the author's sessions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from newsletter_site.models import User
from subscribers.record_activity import record_activity


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


def remove_method(
    author: Any, method: SignInMethod, rows: QuerySet[Any], action: str, **facts: Any
) -> bool:
    """Delete the one row of a method, end all sessions, and record the `action`.

    Returns False if the author could not sign in without it. Then nothing is deleted.
    """
    with locked_author(author):
        if rows.exists() and _is_last(author, method):
            return False
        if rows.delete()[0]:
            invalidate_sessions(author)
            record_activity(action, author.pk, author, **facts)
    return True


def _is_last(author: Any, method: SignInMethod) -> bool:
    passkeys = author.passkeys.count() - (method is SignInMethod.PASSKEY)
    if author.has_usable_password() or passkeys > 0:
        return False
    is_linked = author.organisation_accounts.filter(issuer=settings.OIDC_ISSUER).exists()
    return method is SignInMethod.ORGANISATION or not (settings.OIDC_ISSUER and is_linked)


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

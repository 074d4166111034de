"""Rules for all changes of the methods by which an author signs in.

The last method stays, and a change ends the author's sessions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from newsletter_site.models import User


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


def invalidate_sessions(author: Any) -> None:
    """End all sessions of the author.

    The sessions end because a session's hash depends on this time (`User`).
    """
    author.sign_in_methods_changed_at = Now()
    author.save(update_fields=["sign_in_methods_changed_at"])
    author.refresh_from_db(fields=["sign_in_methods_changed_at"])

"""Name an account on pages, also after the account was deleted."""

import uuid

from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _


def named(user: uuid.UUID | None) -> str:
    """Return the name of the account with this id, or words for a deleted account."""
    return called(get_user_model().objects.filter(pk=user).first() if user else None)


def is_there(user: uuid.UUID | None) -> bool:
    """Return whether the account still exists."""
    return user is not None and get_user_model().objects.filter(pk=user).exists()


def called(user: object) -> str:
    """Return the full name of a user, or their user name."""
    if not user:  # `user` is None, or an empty string from a template
        return _("a deleted account")
    full_name = getattr(user, "get_full_name", str)()
    return full_name or getattr(user, "username", "")

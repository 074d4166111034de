"""The name that pages show for an account, also after it was deleted."""

import uuid

from django.contrib.auth import get_user_model


def named(user: uuid.UUID | None) -> str:
    """The name of the account with this id, or that it is gone."""
    return called(get_user_model().objects.filter(pk=user).first() if user else None)


def is_there(user: uuid.UUID | None) -> bool:
    """Whether the account still exists."""
    return user is not None and get_user_model().objects.filter(pk=user).exists()


def called(user: object) -> str:
    """The full name of a user, or their user name."""
    if not user:  # None, or what a template makes of an account that is not there
        return "someone who is gone"
    full_name = getattr(user, "get_full_name", str)()
    return full_name or getattr(user, "username", "")

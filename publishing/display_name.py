"""What somebody is called by their id, which editions keep also when the account is gone."""

from __future__ import annotations

import uuid

from django.contrib.auth import get_user_model


def named(user: uuid.UUID | None) -> str:
    """The name a person goes by, or that they are gone."""
    return called(get_user_model().objects.filter(pk=user).first() if user else None)


def is_there(user: uuid.UUID | None) -> bool:
    """Whether there is still an account that something can stand under."""
    return user is not None and get_user_model().objects.filter(pk=user).exists()


def called(user: object) -> str:
    """The name a person goes by: their full name, or what they sign in with."""
    if not user:  # None, or what a template makes of an account that is not there
        return "someone who is gone"
    full_name = getattr(user, "get_full_name", str)()
    return full_name or getattr(user, "username", "")

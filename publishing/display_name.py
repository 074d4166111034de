"""What somebody is called by their id, which editions keep also when the account is gone."""

from __future__ import annotations

import uuid

from django.contrib.auth import get_user_model

from publishing.templatetags.desk import called


def named(user: uuid.UUID | None) -> str:
    """The name a person goes by, or that they are gone."""
    return called(get_user_model().objects.filter(pk=user).first() if user else None)


def is_there(user: uuid.UUID | None) -> bool:
    """Whether there is still an account that something can stand under."""
    return user is not None and get_user_model().objects.filter(pk=user).exists()

"""Who signs in. The model stands in the first migration because it cannot be changed later."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models

from newsletter_site.tokens.model import ApiToken

__all__ = ["ApiToken", "User"]


class User(AbstractUser):
    """An author or operator. Signs in with `username`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)

    class Meta(AbstractUser.Meta):
        db_table = "author"
        verbose_name = "author"
        verbose_name_plural = "authors"

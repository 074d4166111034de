"""Who signs in. The model stands in the first migration because it cannot be changed later."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.crypto import salted_hmac


class User(AbstractUser):
    """An author or operator. Signs in with `username`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Since when a code is asked for; empty where none is (sign_in/two_step_devices.py).
    second_factor_since = models.DateTimeField(null=True, editable=False)

    class Meta(AbstractUser.Meta):
        db_table = "author"
        verbose_name = "author"
        verbose_name_plural = "authors"

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """
        What a session is compared with at every request: with the password, and since a second
        factor is asked for, with that. Sessions of before end when either changes.
        """
        # django-stubs leaves Django's method out.
        of_the_password: str = super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]
        if self.second_factor_since is None:
            return of_the_password
        return salted_hmac(
            "homing.session",
            f"{of_the_password} {self.second_factor_since.isoformat()}",
            secret=secret,
            algorithm="sha256",
        ).hexdigest()

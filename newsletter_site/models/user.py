"""The user model: an author or operator."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.crypto import salted_hmac


class User(AbstractUser):
    """An author or operator. Signs in with `username`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Set while two-step sign-in is on (sign_in/two_step_devices.py).
    two_step_since = models.DateTimeField(null=True, editable=False)

    class Meta(AbstractUser.Meta):
        db_table = "author"
        verbose_name = "author"
        verbose_name_plural = "authors"

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Change with password and two-step sign-in, so that earlier sessions end."""
        # django-stubs leaves Django's method out.
        password_hash: str = super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]
        if self.two_step_since is None:
            return password_hash
        return salted_hmac(
            "homing.session",
            f"{password_hash} {self.two_step_since.isoformat()}",
            secret=secret,
            algorithm="sha256",
        ).hexdigest()

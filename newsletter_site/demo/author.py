"""The author of the demo: an account that may do everything, with a password for this run."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from uuid import UUID

from newsletter_site.models import User

USERNAME = "author"
# Without letters and digits that look alike: it will be typed from a screen.
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, slots=True)
class Author:
    """Who signs in."""

    id: UUID
    username: str
    password: str


def author_of_this_run() -> Author:
    """The account, made if it is missing. Its password is new: only a hash of the last is kept."""
    password = "-".join("".join(secrets.choice(LETTERS) for _ in range(4)) for _ in range(3))
    user, _ = User.objects.get_or_create(username=USERNAME)
    user.is_active = user.is_staff = user.is_superuser = True
    user.set_password(password)
    user.save()
    return Author(user.pk, USERNAME, password)

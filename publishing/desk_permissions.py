"""Name the permissions of the desk, and check whether a user has one."""

import uuid

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser

from subscribers.reader_permissions import MANAGE

WRITE = "publishing.write_draft"
PUBLISH = "publishing.publish_edition"
OPERATE = "publishing.operate_sending"
LOOK = "publishing.view_issue"
MANAGE_AUTHORS = "newsletter_site.manage_authors"

# For each tuple, a user needs at least one of its permissions. A user who may publish may also
# write, and a user with any of these permissions may look.
MAY_WRITE = (WRITE, PUBLISH)
MAY_ACT = (PUBLISH, OPERATE)
MAY_LOOK = (WRITE, PUBLISH, OPERATE, LOOK)
BACKEND = "django.contrib.auth.backends.ModelBackend"
TAKE_READERS_AWAY = (PUBLISH, MANAGE, OPERATE)


def load_publishers() -> list[AbstractBaseUser]:
    """Load the users who may sign in and publish, in the order of their user names."""
    users = get_user_model().objects.with_perm(PUBLISH, backend=BACKEND)
    return list(users.filter(is_staff=True).order_by("username"))


def may(user: uuid.UUID, permission: str) -> bool:
    """Return whether a user may sign in and has this permission now."""
    found = get_user_model().objects.filter(pk=user, is_active=True).first()
    return found is not None and found.has_perm(permission)

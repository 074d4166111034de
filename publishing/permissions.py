"""The permissions of the desk by name, and their check."""

import uuid

from django.contrib.auth import get_user_model

from subscribers.permissions import MANAGE

WRITE = "publishing.write_draft"
PUBLISH = "publishing.publish_edition"
OPERATE = "publishing.operate_sending"
LOOK = "publishing.view_issue"

# Any one permission of a group is enough. Publishing includes writing, and all include looking.
MAY_WRITE = (WRITE, PUBLISH)
MAY_ACT = (PUBLISH, OPERATE)
MAY_LOOK = (WRITE, PUBLISH, OPERATE, LOOK)
TAKE_READERS_AWAY = (PUBLISH, MANAGE, OPERATE)


def may(user: uuid.UUID, permission: str) -> bool:
    """Return whether a user may sign in and has this permission now."""
    found = get_user_model().objects.filter(pk=user, is_active=True).first()
    return found is not None and found.has_perm(permission)

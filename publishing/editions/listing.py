"""List or unlist issues in the archive.

An unlisted one keeps its page: mails link to it.
"""

import uuid

from django.db import transaction
from django.utils.translation import gettext as _

from publishing.activity.record_activity import record_listing
from publishing.models import Issue

_YES = {"on", "true", "yes", "1"}
_NO = {"", "off", "false", "no", "0"}


def parse_unlisted(posted: str) -> bool:
    """Parse the posted choice. Raises `ValueError`: no typo may make an issue public."""
    word = posted.strip().lower()
    if word in _YES | _NO:
        return word in _YES
    raise ValueError(
        _("“{posted}” does not say whether the issue is unlisted. Post “on” or nothing.").format(
            posted=posted[:40]
        )
    )


def archive_sentence(*, unlisted: bool) -> str:
    """Write where readers find an issue that is not mailed."""
    if unlisted:
        return _("Anyone with the link can read it in the archive.")
    return _("Everyone can read it in the archive.")


def set_unlisted(author: uuid.UUID, issue: uuid.UUID, *, unlisted: bool) -> bool:
    """List or unlist an issue and record it; return whether that changed anything."""
    with transaction.atomic():
        changed = Issue.objects.filter(pk=issue, unlisted=not unlisted).update(unlisted=unlisted)
        if changed:
            record_listing(author, issue, unlisted=unlisted)
    return bool(changed)

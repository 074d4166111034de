"""List an issue in the archive or not. An unlisted one keeps its page, for its mails."""

import uuid

from django.db import transaction

from publishing.activity.record_activity import record_listing
from publishing.models import Issue

_YES = {"on", "true", "yes", "1"}
_NO = {"", "off", "false", "no", "0"}


def parse_unlisted(posted: str) -> bool:
    """Return what was posted. Raises `ValueError`: no typing error makes an issue public."""
    word = posted.strip().lower()
    if word in _YES | _NO:
        return word in _YES
    raise ValueError(
        f"{posted[:40]!r} does not say whether the issue is unlisted; choose it below, or post "
        "“on” or nothing."
    )


def archive_sentence(*, unlisted: bool, verb: str = "stands") -> str:
    """Return where an issue that goes to nobody is read, as a sentence."""
    return f"It {verb} in the archive{' for whoever has its address' if unlisted else ''}."


def set_unlisted(author: uuid.UUID, issue: uuid.UUID, *, unlisted: bool) -> bool:
    """List or unlist an issue; return whether that changed anything, which is then recorded."""
    with transaction.atomic():
        changed = Issue.objects.filter(pk=issue, unlisted=not unlisted).update(unlisted=unlisted)
        if changed:
            record_listing(author, issue, unlisted=unlisted)
    return bool(changed)

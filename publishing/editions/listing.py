"""
Whether an issue is listed: the only place that reads what was chosen, and that changes it later.

An unlisted issue keeps its page, to which its mails lead; the lists, the feed and other letters do
not lead there, and search engines are asked to leave it out.
"""

from __future__ import annotations

import uuid

from django.db import transaction

from publishing.activity.record_activity import record_listing
from publishing.models import Issue

IN_THE_ARCHIVE = "in the archive."
UNLISTED = "in the archive for whoever has its address."

_YES = {"on", "true", "yes", "1"}
_NO = {"", "off", "false", "no", "0"}


def parse_unlisted(posted: str) -> bool:
    """
    What a form or a script says of it; nothing said means listed.

    Raises `ValueError` with one sentence: whoever mistypes it must not be public by mistake.
    """
    word = posted.strip().lower()
    if word in _YES | _NO:
        return word in _YES
    raise ValueError(
        f"{posted[:40]!r} does not say whether the issue is unlisted; choose it below, or post "
        "“on” or nothing."
    )


def archive_sentence(*, unlisted: bool, verb: str = "stands") -> str:
    """Where an issue that goes to nobody is read, in one sentence."""
    return f"It {verb} {UNLISTED if unlisted else IN_THE_ARCHIVE}"


def set_unlisted(author: uuid.UUID, issue: uuid.UUID, *, unlisted: bool) -> bool:
    """List an issue or take it out; recorded if that changes anything, which is the answer."""
    with transaction.atomic():
        changed = Issue.objects.filter(pk=issue, unlisted=not unlisted).update(unlisted=unlisted)
        if changed:
            record_listing(author, issue, unlisted=unlisted)
    return bool(changed)

"""Turn on and off the welcome letter, which each reader gets after opting in."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from delivery.interface import edition_control
from delivery.models import Delivery, Edition, Newsletter
from delivery.models.delivery import Outcome
from publishing.activity.record_issue_activity import record_action
from publishing.approval.record_approval import second_of
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content
from publishing.editions.welcome_letter import welcome_letter
from publishing.models import Issue


def turn_on(
    author: uuid.UUID,
    content: Content,
    *,
    approved_by: uuid.UUID | None = None,
    written_by: uuid.UUID | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Edition:
    """Make this letter the welcome letter for readers who opt in from now on.

    `columns` are the columns of the composed content, exactly as a second person approved it. If
    the current welcome letter has the same content, nothing changes. Raises `NeedsApprovalError`.
    """
    with transaction.atomic():
        _lock()
        letter = welcome_letter()
        if letter is not None and bytes(letter.content_hash) == content.sha256:
            return letter
        second = second_of(author, approved_by, written_by)
        number = uuid.uuid4()
        # The address of this issue has no page, because the archive shows only newsletters.
        issue = Issue.objects.create(
            pk=number,
            title=content.plain_title,
            slug=f"welcome-{number.hex}",
            unlisted=True,
            published_unlisted=True,
        )
        columns = {
            **(columns or edition_columns(content)),
            "stream": settings.TRANSACTIONAL_STREAM,
        }
        letter = Edition.objects.create(
            issue=issue,
            version=1,
            kind=Edition.Kind.WELCOME,
            author_id=author,
            approved_by_id=second,
            written_by_id=written_by if second == author else None,
            archive_url=settings.SITE_URL + reverse("archive:index"),
            **columns,
        )
        Newsletter.objects.update(welcome_issue=issue.pk)
        record_action(author, letter, "turn_on_welcome")
        return letter


def turn_off(author: uuid.UUID) -> bool:
    """Turn the welcome letter off; return False if it was off already."""
    with transaction.atomic():
        _lock()
        letter = welcome_letter()
        if letter is None:
            return False
        Newsletter.objects.update(welcome_issue=None)
        record_action(author, letter, "turn_off_welcome")
        return True


def count_sent(letter: Edition) -> int:
    """Count the accepted copies of a welcome letter."""
    return Delivery.objects.filter(issue=letter.issue_id, outcome=Outcome.SENT).count()


def count_missed(letter: Edition) -> int:
    """Count the copies that failed after all tries, or whose workers crashed."""
    return Delivery.objects.filter(issue=letter.issue_id, missed=True).count()


def send_to_missed(author: uuid.UUID) -> int:
    """Send the missed copies of the current welcome letter again; return how many."""
    letter, sent = welcome_letter(), 0
    if letter is None:
        return 0
    for edition in Edition.objects.filter(issue=letter.issue_id).order_by("version"):
        sent += edition_control.send_to_missed(edition.pk, batch_size=1) or 0
    if sent:
        record_action(author, letter, "send-to-missed")
    return sent


def _lock() -> None:
    Newsletter.objects.get_current()
    Newsletter.objects.select_for_update().get(pk=1)

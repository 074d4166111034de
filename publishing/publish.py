"""
Publishing: an issue, its edition and one delivery for each confirmed reader, in one transaction.

All of it is there after the commit, or none of it. Knows nothing of HTTP.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.text import slugify

from delivery.composition import compose
from delivery.models import Edition, Newsletter
from delivery.queue.enqueue import enqueue
from publishing.audit_trail import record_publication
from publishing.content import Content
from publishing.models import Issue
from subscribers.audience import confirmed

ONE_PER_KEY = "an_author_publishes_once_per_key"
LONGEST_SLUG = 60


@dataclass(frozen=True, slots=True)
class Published:
    """The edition that stands under the key; `created` is false if it stood there before."""

    edition: Edition
    created: bool


class KeyUsedForOtherContentError(Exception):
    """The author has already published something else under this key; nothing was changed."""

    def __init__(self, edition: Edition) -> None:
        super().__init__(
            f"This key was already used to publish “{edition.title}” with other content; "
            "nothing was sent and nothing was changed."
        )
        self.edition = edition


def edition_under(author: uuid.UUID, key: str) -> Edition | None:
    """The edition that an author published under a key, if any. Keys never expire here."""
    return Edition.objects.filter(author_id=author, idempotency_key=key).first()


def publish(author: uuid.UUID, key: str, content: Content, *, hold_s: float) -> Published:
    """
    Publish `content` as version 1 of a new issue, to everyone who is confirmed now.

    Asking again with the same key returns the edition that exists. Nothing leaves before `hold_s`
    seconds are over. Raises `KeyUsedForOtherContentError` if the key stands for other content.
    """
    with transaction.atomic():
        earlier = edition_under(author, key)
        if earlier is None:
            try:
                with transaction.atomic():
                    return Published(_publish_new(author, key, content, hold_s), created=True)
            except IntegrityError as error:
                # Somebody else was in the middle of it; they have committed by now.
                if _constraint(error) == ONE_PER_KEY:
                    earlier = edition_under(author, key)
                if earlier is None:
                    raise
        if bytes(earlier.content_hash) != content.sha256:
            raise KeyUsedForOtherContentError(earlier)
        return Published(earlier, created=False)


def _constraint(error: IntegrityError) -> str | None:
    """The name of the constraint that was broken."""
    diagnostics = getattr(error.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None)


def _publish_new(author: uuid.UUID, key: str, content: Content, hold_s: float) -> Edition:
    issue = _new_issue(content.plain_title)
    mail = compose(
        content.title,
        content.html,
        content.text,
        newsletter=Newsletter.objects.the_one(),
        site_url=settings.SITE_URL,
    )
    edition = Edition.objects.create(
        issue=issue,
        version=1,
        kind=Edition.Kind.NEWSLETTER,
        stream=settings.POSTMARK_BROADCAST_STREAM,
        author_id=author,
        idempotency_key=key,
        title=content.title,
        html_content=content.html,
        text_content=content.text,
        html_mail=mail.html,
        text_mail=mail.text,
        content_hash=content.sha256,
        archive_url=settings.SITE_URL + reverse("archive:issue", args=[issue.slug]),
        published_at=Now(),
        held_until=cast("Any", Now()) + timedelta(seconds=hold_s),
    )
    edition.refresh_from_db(fields=["published_at", "held_until"])
    enqueue(edition, confirmed(), most=settings.DELIVERY_BATCH_SIZE)
    record_publication(author, edition)
    return edition


def _new_issue(title: str) -> Issue:
    """An issue at an address of its own: the title's words, or those and a bit of its id."""
    issue = Issue(title=title)
    words = slugify(title)[:LONGEST_SLUG].strip("-") or "issue"
    for slug in (words, f"{words}-{issue.pk.hex[:8]}"):
        issue.slug = slug
        if Issue.objects.filter(slug=slug).exists():
            continue
        try:
            with transaction.atomic():
                issue.save(force_insert=True)
        except IntegrityError:
            # Two issues of one title at the same moment: the second takes the longer address.
            continue
        return issue
    raise RuntimeError(f"No address was free for an issue called {title!r}.")

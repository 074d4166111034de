"""
Publishing: an issue, its edition and one delivery for each of its readers, in one transaction.

All of it is there after the commit, or none of it. A version is published once, and so is a key:
two unique constraints decide, whoever comes at the same time. Knows nothing of HTTP.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.text import slugify

from delivery import log_context
from delivery.humanise import counted_readers
from delivery.mail.compose import compose
from delivery.models import Edition, Newsletter
from delivery.rules.edition_counts import AUDIENCE_WORDS
from publishing.activity.record_activity import record_publication
from publishing.approval.approval import second_of
from publishing.content.edition_content import Content
from publishing.drafts import drafts
from publishing.editions.versions import (
    EVERYONE,
    NOBODY,
    VersionRefusedError,
    default_goes_to,
    enqueue_audience,
    version_refusal,
    versions_of,
)
from publishing.models import Draft, Issue
from publishing.scheduling.local_time import Moment, scheduled_moment

logger = logging.getLogger(__name__)

ONE_PER_KEY = "an_author_publishes_once_per_key"
ONE_PER_VERSION = "one_edition_per_issue_and_version"
ONE_PER_ADDRESS = "one_issue_per_archive_address"
ADDRESS_STAYS = "the_address_of_an_issue_stays"
LONGEST_SLUG = 60


@dataclass(frozen=True, slots=True)
class Published:
    """The edition that stands under the key or as that version; not `created` if it did before."""

    edition: Edition
    created: bool


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """
    What is to be published: these words, as that version of that issue, to those readers, then.

    `unlisted` keeps the issue out of the archive's lists. Of a new issue that is part of what its
    key stands for; a later version can only take the issue out. `at` is None for now. `goes_to` is
    None for the default, which is chosen once, when the edition is made.
    """

    content: Content
    issue: uuid.UUID | None
    version: int | None
    goes_to: str | None
    unlisted: bool = False
    at: Moment | None = None

    def is_answered_by(self, edition: Edition) -> bool:
        """Whether this is what was asked for when `edition` was published."""
        same_place = (
            edition.version == 1 and edition.issue.published_unlisted == self.unlisted
            if self.issue is None
            else (edition.issue_id, edition.version) == (self.issue, self.version)
        )
        return (
            same_place
            and self.goes_to in (None, edition.goes_to)
            and is_scheduled_for(edition, self.at)
            and has_content(edition, self.content)
        )


class KeyUsedForOtherContentError(Exception):
    """The author has already published something else under this key; nothing was changed."""

    def __init__(self, edition: Edition, asked: PublishRequest) -> None:
        otherwise = (
            f"as version {edition.version} of its issue, to {AUDIENCE_WORDS[edition.goes_to]}"
            f"{', unlisted' if edition.version == 1 and edition.issue.published_unlisted else ''}"
            f"{_when(edition)}"
            if has_content(edition, asked.content)
            else "with other content"
        )
        super().__init__(
            f"This key was already used to publish “{edition.title}” {otherwise}; "
            "nothing was sent and nothing was changed."
        )
        self.edition = edition


def edition_by_key(author: uuid.UUID, key: str) -> Edition | None:
    """
    The edition under a key of an author, if any. Keys never expire here.

    Anybody may have made it of the draft that the author began under that key.
    """
    own = Edition.objects.filter(author_id=author, idempotency_key=key).first()
    return own or Edition.objects.filter(draft__created_by=author, draft__key=key).first()


def has_content(edition: Edition, content: Content) -> bool:
    """Whether these are the words that were published, to the last character."""
    return bytes(edition.content_hash) == content.sha256


def is_scheduled_for(edition: Edition, at: Moment | None) -> bool:
    """
    Whether it was scheduled for this moment, or for none. One moment is one, in whichever zone it
    was said. That it was sent sooner or started late does not change what it was meant for.
    """
    return edition.scheduled_for == (at.utc if at else None)


def _when(edition: Edition) -> str:
    moment = scheduled_moment(edition)
    return f", for {moment.words}" if moment else ""


def publish(
    author: uuid.UUID,
    key: str,
    content: Content,
    *,
    hold_s: float,
    issue: uuid.UUID | None = None,
    version: int | None = None,
    goes_to: str | None = None,
    unlisted: bool = False,
    approved_by: uuid.UUID | None = None,
    at: Moment | None = None,
    draft: Draft | None = None,
) -> Published:
    """
    Publish `content` as the next `version` of `issue`, or as version 1 of a new one.

    It goes to everyone who is confirmed now, or of them (`goes_to` is `reached`) to those who were
    sent an earlier version, or whom none has reached (`unreached`), or to `nobody`: then only the
    archive changes, at once. By default that follows from the version before (`default_goes_to`).
    Nothing leaves before `hold_s` seconds are over. `unlisted` keeps the issue out of the archive's
    lists (listing.py); without it a version leaves that as it is.
    `approved_by` is who agreed to it, where publishing takes two (approval.py).

    With `at` it waits for that moment, frozen and with its key. Then a worker starts it, for
    everyone confirmed by then (start_scheduled.py). It has no hold.

    `draft` is the locked draft that becomes this edition. Without it, the draft that the author
    began under this key is closed in the same transaction, because one key makes one edition.

    Asking again with the same key returns the edition that exists, and so does asking for a version
    that exists, under whatever key and with whatever content: compare it with `has_content`.
    Raises `KeyUsedForOtherContentError` if the key stands for anything else,
    `VersionRefusedError` if the version is neither there nor the next, and `NeedsApprovalError` if
    publishing takes two and nobody else than `author` has approved it.
    """
    asked = PublishRequest(
        content, issue, version, goes_to and Edition.GoesTo(goes_to).value, unlisted, at
    )
    with transaction.atomic():
        closing = draft or drafts.lock_by_key(author, key)
        whom = asked.goes_to or default_goes_to(issue)
        refusal = version_refusal(issue, version, whom)
        earlier = _standing(author, key, asked)
        if earlier is None:
            if refusal:
                raise VersionRefusedError(refusal)
            second = second_of(author, approved_by)
            settled = replace(asked, goes_to=whom)
            try:
                with transaction.atomic():
                    edition = _publish_new(author, key, settled, hold_s, second)
                    if closing:
                        drafts.close(closing, edition, copy_for=None if draft else author)
                    return Published(edition, created=True)
            except IntegrityError as error:
                # Somebody else was in the middle of it; they have committed by now.
                if _constraint(error) in (ONE_PER_KEY, ONE_PER_VERSION, ADDRESS_STAYS):
                    earlier = _standing(author, key, asked)
                if earlier is None:
                    raise
        return Published(earlier, created=False)


def _standing(author: uuid.UUID, key: str, asked: PublishRequest) -> Edition | None:
    """What was published under this key, or as this version. The key speaks first."""
    edition = edition_by_key(author, key)
    if edition is None:
        if asked.issue is None or asked.version is None:
            return None
        return versions_of(asked.issue).filter(version=asked.version).defer(None).first()
    if not asked.is_answered_by(edition):
        raise KeyUsedForOtherContentError(edition, asked)
    return edition


def _constraint(error: IntegrityError) -> str | None:
    """The name of the constraint that was broken."""
    diagnostics = getattr(error.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None)


def _publish_new(
    author: uuid.UUID, key: str, asked: PublishRequest, hold_s: float, second: uuid.UUID | None
) -> Edition:
    content = asked.content
    issue = _issue_of(asked)
    mail = compose(
        content.title,
        content.html,
        content.text,
        newsletter=Newsletter.objects.the_one(),
        site_url=settings.SITE_URL,
        preheader=content.preheader,
    )
    edition = Edition.objects.create(
        issue=issue,
        version=asked.version or 1,
        goes_to=asked.goes_to or EVERYONE,
        kind=Edition.Kind.NEWSLETTER,
        stream=settings.POSTMARK_BROADCAST_STREAM,
        author_id=author,
        approved_by_id=second,
        idempotency_key=key,
        title=content.title,
        preheader=content.preheader,
        html_content=content.html,
        text_content=content.text,
        html_mail=mail.html,
        text_mail=mail.text,
        content_hash=content.sha256,
        archive_url=settings.SITE_URL + reverse("archive:issue", args=[issue.slug]),
        **_times(asked.at, 0 if asked.goes_to == NOBODY else hold_s),
    )
    # After the edition, which is where two who publish one version wait for each other.
    if edition.version > 1 and asked.unlisted:
        Issue.objects.filter(pk=issue.pk).update(unlisted=True)
        issue.unlisted = True  # whoever tells where it stands has this object
    if asked.at:
        record_publication(author, edition, unlisted=asked.unlisted)
        _log_once_it_stands(edition, "scheduled")
        return edition
    edition.refresh_from_db(fields=["published_at", "held_until"])
    enqueue_audience(edition)
    if edition.version > 1:
        Issue.objects.filter(pk=issue.pk).update(title=content.plain_title)
    record_publication(author, edition, unlisted=asked.unlisted)
    _log_once_it_stands(edition, f"published to {counted_readers(edition.audience)}")
    return edition


def _log_once_it_stands(edition: Edition, what: str) -> None:
    """A line of the log, and the ids on all that follow it; neither of what is rolled back."""

    def log() -> None:
        log_context.bind(issue=edition.issue_id, version=edition.version)
        logger.info("version %d of an issue was %s", edition.version, what)

    transaction.on_commit(log)


def _times(at: Moment | None, hold_s: float) -> dict[str, Any]:
    """When it is published and held until; of a scheduled one the moment it waits for."""
    if at is None:
        return {
            "published_at": Now(),
            "held_until": cast("Any", Now()) + timedelta(seconds=hold_s),
        }
    return {
        "control": Edition.Control.SCHEDULED,
        # When that was: a restored database has the provider asked from there on.
        "control_at": Now(),
        "published_at": at.utc,
        "held_until": at.utc,
        "scheduled_for": at.utc,
        "scheduled_local": at.local,
        "scheduled_zone": at.zone,
    }


def _issue_of(asked: PublishRequest) -> Issue:
    """The named issue, at a new address if that can still change; or a new issue."""
    title = asked.content.plain_title
    if asked.issue is None:
        issue = Issue(title=title, unlisted=asked.unlisted, published_unlisted=asked.unlisted)
        _save_at_an_address(issue, _addresses(issue, title))
        return issue
    issue = Issue.objects.get(pk=asked.issue)
    addresses = _addresses(issue, title)
    if issue.slug not in addresses and not _address_is_fixed(issue):
        _save_at_an_address(issue, addresses)
    return issue


def _address_is_fixed(issue: Issue) -> bool:
    """Whether a copy of the issue may have left or may leave. A trigger checks it too."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT the_address_is_fixed(%s)", [issue.pk])
        return bool(cursor.fetchone()[0])


def _addresses(issue: Issue, title: str) -> tuple[str, str]:
    """The addresses an issue may have: its title, alone or with a part of its id."""
    words = slugify(title)[:LONGEST_SLUG].strip("-") or "issue"
    return words, f"{words}-{issue.pk.hex[:8]}"


def _save_at_an_address(issue: Issue, addresses: tuple[str, str]) -> None:
    is_new = issue._state.adding
    for slug in addresses:
        if Issue.objects.filter(slug=slug).exists():
            continue
        issue.slug = slug
        try:
            with transaction.atomic():
                issue.save(force_insert=is_new, update_fields=None if is_new else ["slug"])
        except IntegrityError as error:
            # Two issues of one title at the same moment: the second takes the longer address.
            if _constraint(error) == ONE_PER_ADDRESS:
                continue
            raise
        return
    raise RuntimeError(f"No address was free for an issue called {issue.title!r}.")

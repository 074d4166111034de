"""Publish an edition, with one delivery for each reader, in one transaction."""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext as _

from delivery import log_context
from delivery.models import Edition, Newsletter
from delivery.rules.scheduled_time import ScheduledTime
from publishing.activity.record_issue_activity import record_publication
from publishing.approval.record_approval import second_of
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content, find_problems
from publishing.drafts import save_draft
from publishing.editions.approved_sender import sender_lines
from publishing.editions.archive_visibility import (
    columns_of,
    has_been_public,
    page_refusal,
    visibility_after,
)
from publishing.editions.audience import (
    DELETED_TAG,
    EVERY_READER,
    EVERYONE,
    NOBODY,
    TagChoice,
    edition_audience,
    enqueue_audience,
)
from publishing.editions.issue_address import (
    constraint_of,
    is_at,
    save_new_issue,
    update_address,
)
from publishing.editions.versions import (
    VersionRefusedError,
    default_goes_to,
    tags_of_issue,
    version_refusal,
    versions_of,
)
from publishing.models import Draft, Issue, Visibility
from publishing.scheduling.local_time import scheduled_for
from subscribers.fields.find_tags import hold_tags
from subscribers.fields.own_fields import load_own_fields

logger = logging.getLogger(__name__)

ONE_PER_KEY = "an_author_publishes_once_per_key"
ONE_PER_VERSION = "one_edition_per_issue_and_version"
ADDRESS_STAYS = "the_address_of_an_issue_stays"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """The author's choices for a publication, besides the content.

    Without `issue`, a new issue is published. Without `goes_to`, the default audience is used.
    Without `at`, the edition is published now. `tags` limit the audience; without `tags`, the tags
    of the issue's newest version apply. `archive` is a value of `Visibility`; if it is empty, the
    default applies. `address` is the address that the author chose; if it is empty, the title gives
    the address. `without_note` applies only to a correction of the page that is not mailed. With
    `without_note`, the page has no note about the correction.
    """

    issue: uuid.UUID | None = None
    version: int | None = None
    goes_to: str | None = None
    archive: str = ""
    at: ScheduledTime | None = None
    tags: TagChoice | None = None
    address: str = ""
    without_note: bool = False

    def are_met_by(self, edition: Edition, content: Content) -> bool:
        """Return whether `edition` has this content and these choices."""
        same_version = (
            edition.version == 1 and self._has_visibility_of(edition)
            if self.issue is None
            else (edition.issue_id, edition.version) == (self.issue, self.version)
        )
        return (
            same_version
            and self.goes_to in (None, edition.goes_to)
            and (self.tags is None or self.tags.is_same_as(TagChoice.of(edition)))
            and is_scheduled_for(edition, self.at)
            and self.has_address_of(edition)
            and has_content(edition, content)
        )

    def has_address_of(self, edition: Edition) -> bool:
        """Return whether `edition` has the chosen address, or no address was chosen."""
        return not self.address or is_at(edition, self.address)

    def _has_visibility_of(self, edition: Edition) -> bool:
        default = visibility_after("", TagChoice.of(edition), None, is_public=False)
        return edition.issue.published_visibility == (self.archive or default)


@dataclass(frozen=True, slots=True)
class PublishResult:
    """The edition that `publish` returns, and whether this call created it."""

    edition: Edition
    created: bool


class KeyUsedForOtherContentError(Exception):
    """The author has already published something else under this key."""

    def __init__(self, edition: Edition, content: Content, options: PublishOptions) -> None:
        sentences = _describe_edition(edition)
        if not has_content(edition, content):
            other = _("This key was already used to publish “{title}” with other content.")
            sentences = [other.format(title=edition.title)]
        if not options.has_address_of(edition):
            sentences.append(its_address(edition))
        nothing_done = _("Nothing was sent and nothing was changed.")
        super().__init__(" ".join([*sentences, nothing_done]))
        self.edition = edition


def _describe_edition(edition: Edition) -> list[str]:
    sentence = _("This key was already used to publish “{title}” as version {version}, to {whom}.")
    sentences = [
        sentence.format(
            title=edition.title, version=edition.version, whom=edition_audience(edition)
        )
    ]
    if edition.version == 1:
        match edition.issue.published_visibility:
            case Visibility.UNLISTED:
                sentences.append(_("It was published unlisted."))
            case Visibility.NONE:
                sentences.append(_("It was published without a page in the archive."))
    if moment := scheduled_for(edition):
        sentences.append(_("It is scheduled for {moment}.").format(moment=moment))
    return sentences


def its_address(edition: Edition) -> str:
    """Return a sentence about the address at which an edition was published."""
    return _("Its address is {address}.").format(address=edition.archive_url)


def edition_by_key(author: uuid.UUID, key: str) -> Edition | None:
    """Return the edition that has an author's key, or whose draft has this key."""
    own = Edition.objects.filter(author_id=author, idempotency_key=key).first()
    return own or Edition.objects.filter(draft__created_by=author, draft__key=key).first()


def has_content(edition: Edition, content: Content) -> bool:
    """Return whether the edition has exactly this content."""
    return bytes(edition.content_hash) == content.sha256


def is_scheduled_for(edition: Edition, at: ScheduledTime | None) -> bool:
    """Return whether the edition was scheduled for this moment.

    If `at` is None, return whether the edition was not scheduled.
    """
    return edition.scheduled_for == (at.utc if at else None)


def publish(
    author: uuid.UUID,
    key: str,
    content: Content,
    options: PublishOptions = PublishOptions(),
    *,
    hold_s: float,
    approved_by: uuid.UUID | None = None,
    draft: Draft | None = None,
    columns: Mapping[str, Any] | None = None,
) -> PublishResult:
    """Publish the next version of an issue, or version 1 of a new issue.

    `hold_s` is the number of seconds before sending starts; a scheduled edition has no hold.
    `columns` are the columns of the composed content, exactly as a second person approved it.
    `draft` must be locked. If `draft` is None, the author's draft with this key is linked to the
    edition.

    If the key was used before, the edition with this key is returned. If the version exists
    already, the edition of this version is returned, even if the content differs. Raises
    `KeyUsedForOtherContentError`, `NeedsApprovalError` and `VersionRefusedError`.
    """
    with transaction.atomic():
        closing = draft or save_draft.lock_by_key(author, key)
        audience = options.goes_to or default_goes_to(options.issue)
        refusal = version_refusal(options.issue, options.version, audience)
        earlier = _find_earlier(author, key, content, options)
        if earlier is None:
            if refusal:
                raise VersionRefusedError(refusal)
            writer = draft.saved_by_id if draft else None
            second = second_of(author, approved_by, writer)
            try:
                with transaction.atomic():
                    edition = _publish_new(
                        author,
                        key,
                        content,
                        replace(options, goes_to=audience),
                        hold_s,
                        second,
                        writer if second == author else None,
                        columns,
                    )
                    if closing:
                        save_draft.link_to_edition(
                            closing, edition, copy_for=None if draft else author
                        )
                    return PublishResult(edition, created=True)
            except IntegrityError as error:
                # A concurrent call published the same version, or used the same key, and has
                # committed by now.
                if constraint_of(error) in (ONE_PER_KEY, ONE_PER_VERSION, ADDRESS_STAYS):
                    earlier = _find_earlier(author, key, content, options)
                if earlier is None:
                    raise
        return PublishResult(earlier, created=False)


def _find_earlier(
    author: uuid.UUID, key: str, content: Content, options: PublishOptions
) -> Edition | None:
    edition = edition_by_key(author, key)
    if edition is None:
        if options.issue is None or options.version is None:
            return None
        return versions_of(options.issue).filter(version=options.version).defer(None).first()
    if not options.are_met_by(edition, content):
        raise KeyUsedForOtherContentError(edition, content, options)
    return edition


def _publish_new(
    author: uuid.UUID,
    key: str,
    content: Content,
    options: PublishOptions,
    hold_s: float,
    second: uuid.UUID | None,
    writer: uuid.UUID | None,
    columns: Mapping[str, Any] | None,
) -> Edition:
    tags, goes_to = options.tags, options.goes_to or EVERYONE
    if tags is None:
        tags = tags_of_issue(options.issue) if options.issue else EVERY_READER
    known = Issue.objects.get(pk=options.issue) if options.issue else None
    visibility = visibility_after(
        options.archive, tags, known, is_public=has_been_public(options.issue)
    )
    content = content_for(content, visibility, goes_to)
    issue = known or save_new_issue(content.plain_title, visibility, chosen=options.address)
    if known:
        update_address(issue, content.plain_title, options.address)
    if not hold_tags([*tags.with_ids, *tags.without_ids]):
        raise VersionRefusedError(str(DELETED_TAG))
    edition = Edition.objects.create(
        issue=issue,
        version=options.version or 1,
        goes_to=goes_to,
        kind=Edition.Kind.NEWSLETTER,
        author_id=author,
        approved_by_id=second,
        written_by_id=writer,
        idempotency_key=key,
        archive_url=settings.SITE_URL + reverse("archive:issue", args=[issue.slug]),
        without_note=options.without_note and issue is known and goes_to == NOBODY,
        approved_sender=sender_lines(Newsletter.objects.get_current()) if second else "",
        **(columns or edition_columns(content)),
        **tags.columns(),
        **_times(options.at, 0 if goes_to == NOBODY else hold_s),
    )
    # Change the visibility only after the edition is created, because the creation waits for
    # concurrent calls for the same version.
    if issue.visibility != visibility:
        Issue.objects.filter(pk=issue.pk).update(**columns_of(visibility))
        issue.refresh_from_db(fields=["unlisted", "has_page"])
    if options.at is None:
        edition.refresh_from_db(fields=["published_at", "held_until"])
        enqueue_audience(edition)
        if edition.version > 1:
            Issue.objects.filter(pk=issue.pk).update(title=content.plain_title)
    record_publication(author, edition, options.at, visibility)
    _log_on_commit(edition)
    return edition


def content_for(content: Content, visibility: Visibility, goes_to: str) -> Content:
    """Return the content that an issue with this visibility gets.

    Raises `VersionRefusedError` if the issue cannot be left out of the archive.
    """
    content = replace(content, has_page=visibility is not Visibility.NONE)
    refusal = page_refusal(visibility, goes_to)
    if not refusal and not content.has_page:
        refusal = next((one.sentence for one in find_problems(content, load_own_fields())), "")
    if refusal:
        raise VersionRefusedError(refusal)
    return content


def _log_on_commit(edition: Edition) -> None:
    """Log the publication after the commit, and add its ids to later log lines."""

    def log() -> None:
        log_context.bind(issue=edition.issue_id, version=edition.version)
        if edition.scheduled_for:
            logger.info("version %d of an issue was scheduled", edition.version)
        else:
            readers = edition.audience
            logger.info(
                "version %d of an issue was published; readers: %d", edition.version, readers
            )

    transaction.on_commit(log)


def _times(at: ScheduledTime | None, hold_s: float) -> dict[str, Any]:
    if at is None:
        return {"published_at": Now(), "held_until": cast("Any", Now()) + timedelta(seconds=hold_s)}
    return {
        "control": Edition.Control.SCHEDULED,
        # After a restore, reconciliation asks the provider about mails that were sent from this
        # time on.
        "control_at": Now(),
        "published_at": at.utc,
        "held_until": at.utc,
        "scheduled_for": at.utc,
        "scheduled_local": at.local,
        "scheduled_zone": at.zone,
    }

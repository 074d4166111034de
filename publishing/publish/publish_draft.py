"""Publish a draft exactly as its author confirmed it, once, under the draft's key."""

import uuid
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.models import Edition
from delivery.rules.scheduled_time import ScheduledTime
from idempotency.safe_to_retry import DifferentContentError
from publishing.approval.record_approval import NeedsApprovalError, approver_of, hold_newsletter
from publishing.content.compose_content import edition_columns
from publishing.content.draft_content import build_content
from publishing.content.edition_content import Content, plain_title
from publishing.display_name import named
from publishing.editions.archive_visibility import visibility_of_draft
from publishing.editions.audience import choice_of
from publishing.editions.edition_status import load_status
from publishing.editions.issue_address import plan_address
from publishing.editions.versions import VersionRefusedError
from publishing.models import Draft
from publishing.publish.publish_edition import (
    KeyUsedForOtherContentError,
    PublishOptions,
    content_for,
    is_scheduled_for,
    publish,
)

DELETED = gettext_lazy("The draft was deleted. Nothing was published.")
CHANGED = gettext_lazy(
    "The draft was changed after you opened it. Nothing was published. Check it again."
)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The version that the author saw and confirmed. If `moment` is None, publish now."""

    revision: int
    content_hash: bytes
    version: int
    moment: ScheduledTime | None


class DraftChangedError(Exception):
    """The draft or its version has changed since the author confirmed it."""


class PublishedByOtherError(Exception):
    """Another author has already published or scheduled the draft."""

    def __init__(self, edition: Edition) -> None:
        if load_status(edition.pk).counts.has_started:
            sentence = _(
                "“{title}” was already published by {author}. Nothing was sent now, and readers "
                "get it once."
            )
        else:
            sentence = _(
                "“{title}” was already scheduled by {author}. Nothing was sent now, and readers "
                "get it once."
            )
        super().__init__(
            sentence.format(title=plain_title(edition), author=named(edition.author_id))
        )
        self.edition = edition


def publish_draft(
    author: uuid.UUID,
    draft: uuid.UUID,
    confirmed: Confirmation,
    *,
    content: Content | None = None,
) -> Edition:
    """Publish a draft, or return the edition if the draft was published before.

    Raises `DraftChangedError`, `PublishedByOtherError` and `DifferentContentError`.
    """
    locked = Draft.objects.select_for_update(of=("self",)).filter(pk=draft).first()
    if locked is None:
        raise DraftChangedError(str(DELETED))
    if locked.edition is not None:
        return _check_same(author, locked.edition, confirmed)
    content = content or build_content(locked.fields)
    if (locked.revision, content.sha256) != (confirmed.revision, confirmed.content_hash):
        raise DraftChangedError(str(CHANGED))
    hold_newsletter()
    # Compose the mail once, so that the edition keeps exactly the mail that was approved.
    try:
        content = content_for(content, visibility_of_draft(locked), locked.goes_to)
    except VersionRefusedError as error:
        raise DraftChangedError(str(error)) from None
    columns = edition_columns(content)
    address = plan_address(locked, content.plain_title)
    try:
        edition = publish(
            author,
            locked.key,
            content,
            PublishOptions(
                issue=locked.issue_id,
                version=confirmed.version if locked.issue_id else None,
                goes_to=locked.goes_to,
                archive=locked.fields.archive,
                without_note=locked.without_note,
                tags=choice_of(locked.with_tags, locked.without_tags),
                at=confirmed.moment,
                address=address.words if address.is_chosen else "",
            ),
            hold_s=settings.PUBLISH_HOLD_S,
            approved_by=approver_of(locked, content, columns),
            columns=columns,
            draft=locked,
        ).edition
    except (NeedsApprovalError, VersionRefusedError) as error:
        raise DraftChangedError(str(error)) from None
    except KeyUsedForOtherContentError:
        # The author published other content under the draft's key.
        raise DifferentContentError from None
    if (edition.author_id, edition.idempotency_key) != (author, locked.key):
        if load_status(edition.pk).counts.has_started:
            sentence = _(
                "Version {version} of this issue was already published by {author}. Nothing was "
                "published now. Check the draft again."
            )
        else:
            sentence = _(
                "Version {version} of this issue was already scheduled by {author}. Nothing was "
                "published now. Check the draft again."
            )
        raise DraftChangedError(
            sentence.format(version=edition.version, author=named(edition.author_id))
        )
    return edition


def _check_same(author: uuid.UUID, edition: Edition, confirmed: Confirmation) -> Edition:
    if edition.author_id != author:
        raise PublishedByOtherError(edition)
    same = (
        bytes(edition.content_hash) == confirmed.content_hash
        and edition.version == confirmed.version
        and is_scheduled_for(edition, confirmed.moment)
    )
    if not same:
        raise DifferentContentError
    return edition

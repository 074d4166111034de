"""Publish a draft as its author confirmed it, once, under the draft's key."""

import uuid
from dataclasses import dataclass

from django.conf import settings

from delivery.models import Edition
from delivery.rules.scheduled_time import ScheduledTime
from idempotency.safe_to_retry import DifferentContentError
from publishing.approval.approval import NeedsApprovalError, approver_of
from publishing.content.draft_content import HTML, DraftFields, build_content
from publishing.content.edition_content import Content, plain_title
from publishing.display_name import named
from publishing.editions.status import load_status
from publishing.editions.versions import VersionRefusedError, default_goes_to
from publishing.models import Draft
from publishing.publish.publish import (
    KeyUsedForOtherContentError,
    PublishRequest,
    is_scheduled_for,
    publish,
)

DELETED = "The draft was deleted meanwhile. Nothing was published."
CHANGED = "The draft was changed after you looked at it. Nothing was published; look again."


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the author saw and confirmed. `moment` is None for now."""

    revision: int
    content_hash: bytes
    version: int
    moment: ScheduledTime | None


class DraftChangedError(Exception):
    """The draft, or what surrounds it, is no longer what the author confirmed."""


class PublishedByOtherError(Exception):
    """Somebody else published or scheduled the draft before."""

    def __init__(self, edition: Edition) -> None:
        super().__init__(
            f"{named(edition.author_id)} {load_status(edition.pk).was_done} "
            f"“{plain_title(edition)}” before you pressed. Nothing was sent now; it goes out once."
        )
        self.edition = edition


def matching_content(draft: Draft, asked: PublishRequest) -> Content | None:
    """Return the draft's content if the form for finished HTML posts exactly this draft."""
    fields, posted = draft.fields, asked.content
    goes_to = asked.goes_to or default_goes_to(asked.issue)
    if (draft.issue_id, fields.goes_to, fields.unlisted) != (asked.issue, goes_to, asked.unlisted):
        return None
    content = build_content(fields)
    # The form may hold the automatic text part, or none.
    completed = build_content(
        DraftFields(posted.title, posted.preheader, HTML, posted.html, posted.text)
    )
    return content if completed.sha256 == content.sha256 else None


def publish_draft(
    author: uuid.UUID,
    draft: uuid.UUID,
    confirmed: Confirmation,
    *,
    content: Content | None = None,
) -> Edition:
    """Make the edition of a draft, or return the one made of it. Raises an error above."""
    locked = Draft.objects.select_for_update(of=("self",)).filter(pk=draft).first()
    if locked is None:
        raise DraftChangedError(DELETED)
    if locked.edition is not None:
        return _check_same(author, locked.edition, confirmed)
    content = content or build_content(locked.fields)
    if (locked.revision, content.sha256) != (confirmed.revision, confirmed.content_hash):
        raise DraftChangedError(CHANGED)
    try:
        edition = publish(
            author,
            locked.key,
            content,
            hold_s=settings.PUBLISH_HOLD_S,
            issue=locked.issue_id,
            version=confirmed.version if locked.issue_id else None,
            goes_to=locked.goes_to,
            unlisted=locked.unlisted,
            approved_by=approver_of(locked, content),
            at=confirmed.moment,
            draft=locked,
        ).edition
    except (NeedsApprovalError, VersionRefusedError) as error:
        raise DraftChangedError(str(error)) from None
    except KeyUsedForOtherContentError:
        # The author published under the draft's key in another form.
        raise DifferentContentError from None
    if (edition.author_id, edition.idempotency_key) != (author, locked.key):
        done = load_status(edition.pk).was_done
        raise DraftChangedError(
            f"Version {edition.version} of this issue was {done} meanwhile by "
            f"{named(edition.author_id)}. Nothing was published now; look again."
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

"""
From a draft to an edition: the words that somebody agreed to, once, under the one key of the draft.

Whoever presses names what they saw: the revision, the hash of the words, the version it will be and
when it goes out. The draft is held while it becomes an edition, so nobody saves in between; and
once it is one, every further press meets that edition, whoever presses.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from delivery.models import Edition
from publishing.approval.approval import NeedsApprovalError, approval_of
from publishing.content.draft_content import HTML, DraftContent, build_content
from publishing.content.edition_content import Content, plain_title
from publishing.display_name import named
from publishing.drafts.drafts import content_of_draft, fields_of_draft
from publishing.editions.status import load_status
from publishing.editions.versions import VersionRefusedError
from publishing.models import Draft
from publishing.publish.publish import (
    KeyUsedForOtherContentError,
    edition_by_key,
    is_scheduled_for,
    publish,
)
from publishing.scheduling.local_time import Moment

THROWN_AWAY = "The draft was thrown away meanwhile. Nothing was published."
CHANGED = "The draft was changed after you looked at it. Nothing was published; look again."


@dataclass(frozen=True, slots=True)
class Agreed:
    """What somebody saw when they pressed. `moment` is None for now."""

    revision: int
    content_hash: bytes
    version: int
    moment: Moment | None


class ChangedMeanwhileError(Exception):
    """The draft, or what is around it, is no longer what somebody agreed to; one sentence."""


class PublishedOtherwiseError(Exception):
    """The same person published under the draft's key before, and not what they agree to now."""


class PublishedBySomebodyElseError(Exception):
    """The draft was published or scheduled before, by somebody else; nothing more is done."""

    def __init__(self, edition: Edition) -> None:
        super().__init__(
            f"{named(edition.author_id)} {load_status(edition.pk).was_done} "
            f"“{plain_title(edition)}” before you pressed. Nothing was sent now; it goes out once."
        )
        self.edition = edition


def content_if_of(
    draft: Draft, posted: Content, *, issue: uuid.UUID | None, goes_to: str, unlisted: bool
) -> Content | None:
    """
    The content of a draft if the form for finished HTML posts exactly this draft, otherwise None.

    The form may hold the text part that is made from the HTML, or none.
    """
    wording = fields_of_draft(draft)
    if (draft.issue_id, wording.goes_to, wording.unlisted) != (issue, goes_to, unlisted):
        return None
    content = build_content(wording.written)
    completed = build_content(
        DraftContent(posted.title, posted.preheader, HTML, posted.html, posted.text)
    )
    return content if completed.sha256 == content.sha256 else None


def publish_draft(
    author: uuid.UUID,
    draft: uuid.UUID,
    agreed: Agreed,
    *,
    hold_s: float,
    content: Content | None = None,
) -> Edition:
    """
    Make the edition of a draft, or return the one that was made of it before.

    `content` is what the words of the agreed revision make, where the caller has made it already:
    it is not made again while the draft is held. In the caller's transaction. Raises one of the
    errors above, and then nothing was changed.
    """
    held = Draft.objects.select_for_update(of=("self",)).filter(pk=draft).first()
    if held is None:
        raise ChangedMeanwhileError(THROWN_AWAY)
    made = held.edition
    if made is None and held.created_by_id is not None:
        # A key was used without its draft until drafts were linked to what their key makes.
        made = edition_by_key(held.created_by_id, held.key)
    if made is not None:
        return _standing(author, made, agreed)
    content = content or build_content(content_of_draft(held))
    if (held.revision, content.sha256) != (agreed.revision, agreed.content_hash):
        raise ChangedMeanwhileError(CHANGED)
    approval = approval_of(held, content)
    try:
        published = publish(
            author,
            held.key,
            content,
            hold_s=hold_s,
            issue=held.issue_id,
            version=agreed.version if held.issue_id else None,
            goes_to=held.goes_to,
            unlisted=held.unlisted,
            approved_by=approval.by if approval else None,
            at=agreed.moment,
            draft=held,
        )
    except (NeedsApprovalError, VersionRefusedError) as error:
        raise ChangedMeanwhileError(str(error)) from None
    except KeyUsedForOtherContentError:
        # In the plain form, by whoever took the key of the draft for it.
        raise PublishedOtherwiseError from None
    edition = published.edition
    if (edition.author_id, edition.idempotency_key) != (author, held.key):
        done = load_status(edition.pk).was_done
        raise ChangedMeanwhileError(
            f"Version {edition.version} of this issue was {done} meanwhile by "
            f"{named(edition.author_id)}. Nothing was published now; look again."
        )
    return edition


def _standing(author: uuid.UUID, edition: Edition, agreed: Agreed) -> Edition:
    if edition.author_id != author:
        raise PublishedBySomebodyElseError(edition)
    same = (
        bytes(edition.content_hash) == agreed.content_hash
        and edition.version == agreed.version
        and is_scheduled_for(edition, agreed.moment)
    )
    if not same:
        raise PublishedOtherwiseError
    return edition

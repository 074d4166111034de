"""
Where publishing takes two: who agreed to a draft, and whether that is enough to publish it.

An approval is of exactly the words that its giver saw, and of whom they go to: it is kept with
their hash, and any edit makes the hash another. It counts for as long as its giver may publish.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.models import Newsletter
from publishing.activity import record_activity
from publishing.content.draft_content import DraftContent, build_content
from publishing.content.edition_content import Content
from publishing.display_name import named
from publishing.editions.status import load_status
from publishing.models import Draft
from publishing.permissions import PUBLISH, may

TAKES_TWO = (
    "Publishing takes two here: somebody else who may publish has to approve exactly these words "
    "first. Write it as a draft, and it can be approved there."
)


class NeedsApprovalError(Exception):
    """Publishing takes two, and this has not been approved by a second; one sentence says so."""


class CannotApproveError(Exception):
    """Nothing was approved; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Approval:
    """Who agreed to the words as they are now, what that person is called, and when."""

    by: uuid.UUID
    name: str
    at: datetime


def needs_approval() -> bool:
    """Whether publishing takes two, as the newsletter is set now."""
    return Newsletter.objects.the_one().second_person


def approval_hash(draft: Draft, content: Content | None = None) -> bytes:
    """
    What an approval is kept with: the words of a draft and whom they go to, as 32 bytes.

    `content`, here and below, is what these words make, where the caller has made it already: of a
    long letter that takes a while.
    """
    content = content or _content_of(draft)
    place = f"{draft.issue_id}\0{draft.goes_to}\0{draft.unlisted}"
    return hashlib.sha256(content.sha256 + place.encode()).digest()


def _content_of(draft: Draft) -> Content:
    return build_content(
        DraftContent(draft.title, draft.preheader, draft.format, draft.letter, draft.text)
    )


def approve(draft: uuid.UUID, by: uuid.UUID, seen: bytes) -> None:
    """
    Keep that `by` agrees to a draft as it was seen: `seen` is its `approval_hash`.

    Raises `CannotApproveError` with one sentence if the draft was changed meanwhile, has been
    published, or is gone, or if `by` may not publish. Approving it again changes nothing.
    """
    if not may(by, PUBLISH):
        raise CannotApproveError("Approving takes the permission to publish.")
    with transaction.atomic():
        found = Draft.objects.filter(pk=draft).first()
        if found is None:
            raise CannotApproveError("This draft is gone; there is nothing to approve.")
        if found.edition_id is not None:
            done = load_status(found.edition_id).was_done
            raise CannotApproveError(f"This draft was {done} meanwhile.")
        content = _content_of(found)
        if approval_hash(found, content) != seen:
            raise CannotApproveError(
                "This draft was changed after you looked at it. Nothing was approved; look again."
            )
        standing = approval_of(found, content)
        if standing is not None and standing.by == by:
            return
        # Guarded by the revision: whoever saves in between makes other words of it.
        approved = Draft.objects.filter(
            pk=draft, revision=found.revision, edition__isnull=True
        ).update(approved_by=by, approved_hash=seen, approved_at=Now())
        if not approved:
            raise CannotApproveError(
                "This draft was changed at this very moment. Nothing was approved; look again."
            )
        record_activity.record_draft_activity("approve_draft", by, found)


def approval_of(draft: Draft, content: Content | None = None) -> Approval | None:
    """The approval that counts for the draft as it is now, if there is one."""
    by, at = draft.approved_by_id, draft.approved_at
    if by is None or at is None:
        return None
    if not _is_of_these_words(draft, content) or not may(by, PUBLISH):
        return None
    return Approval(by, named(by), at)


def approved_drafts(drafts: Iterable[Draft]) -> frozenset[uuid.UUID]:
    """Which of these drafts have an approval that counts; about each giver it is asked once."""
    given = {draft.pk: draft.approved_by_id for draft in drafts if _is_of_these_words(draft)}
    givers = {by for by in given.values() if by is not None and may(by, PUBLISH)}
    return frozenset(draft for draft, by in given.items() if by in givers)


def _is_of_these_words(draft: Draft, content: Content | None = None) -> bool:
    if draft.approved_hash is None:
        return False
    return bytes(draft.approved_hash) == approval_hash(draft, content)


def approval_refusal(draft: Draft, publisher: uuid.UUID, content: Content | None = None) -> str:
    """Why `publisher` may not publish this draft yet, for want of a second; nothing if they may."""
    if not needs_approval():
        return ""
    approval = approval_of(draft, content)
    if approval is not None and approval.by != publisher:
        return ""
    if approval is not None:
        return (
            "You approved these words yourself. Publishing takes two here: somebody else who may "
            "publish presses the button."
        )
    if draft.approved_by_id is not None and draft.approved_hash is not None:
        return (
            f"{named(draft.approved_by_id)} approved earlier words, or may no longer publish. "
            "Somebody else who may publish has to approve it as it is now."
        )
    return "Publishing takes two here. Somebody else who may publish has to approve it first."


def second_of(publisher: uuid.UUID, approved_by: uuid.UUID | None) -> uuid.UUID | None:
    """
    Who stands beside `publisher` for an edition that is about to be made, if anybody.

    Must be called in the transaction that makes it: until that ends nobody can have publishing
    take two, so that no edition goes out alone after they were told that none does. Raises
    `NeedsApprovalError` if it takes two and there is no second.
    """
    newsletter = Newsletter.objects.the_one()
    with connection.cursor() as cursor:
        # A statement of its own, so that it sees what a change that it waited for has made.
        cursor.execute(
            "SELECT second_person FROM newsletter WHERE id = %s FOR SHARE", [newsletter.pk]
        )
        (takes_two,) = cursor.fetchone()
    second = approved_by if approved_by != publisher else None
    if second is not None and not may(second, PUBLISH):
        second = None
    if takes_two and second is None:
        raise NeedsApprovalError(TAKES_TWO)
    return second

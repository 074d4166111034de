"""The second person's approval of a draft. An edit invalidates it, by its hash."""

import hashlib
import uuid
from collections.abc import Iterable

from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.models import Newsletter
from publishing.activity import record_activity
from publishing.content.draft_content import build_content
from publishing.content.edition_content import Content
from publishing.display_name import named
from publishing.editions.status import load_status
from publishing.models import Draft
from publishing.permissions import PUBLISH, may

NEEDS_TWO = (
    "Publishing takes two here: somebody else who may publish has to approve exactly these words "
    "first. Write it as a draft, and it can be approved there."
)


class NeedsApprovalError(Exception):
    """Publishing needs a second person, and nobody else has approved this."""


class CannotApproveError(Exception):
    """Nothing was approved; the sentence says why."""


def needs_approval() -> bool:
    """Whether publishing needs a second person now."""
    return Newsletter.objects.get_current().second_person


def approval_hash(draft: Draft, content: Content | None = None) -> bytes:
    """Return the hash of a draft's content (`content` if it is built) and readers, 32 bytes."""
    content = content or build_content(draft.fields)
    target = f"{draft.issue_id}\0{draft.goes_to}\0{draft.unlisted}"
    return hashlib.sha256(content.sha256 + target.encode()).digest()


def approve(draft: uuid.UUID, by: uuid.UUID, seen: bytes) -> None:
    """Approve a draft as `seen`, its `approval_hash`. Raises `CannotApproveError`."""
    if not may(by, PUBLISH):
        raise CannotApproveError("Approving takes the permission to publish.")
    with transaction.atomic():
        found = Draft.objects.filter(pk=draft).first()
        if found is None:
            raise CannotApproveError("This draft is gone; there is nothing to approve.")
        if found.edition_id is not None:
            done = load_status(found.edition_id).was_done
            raise CannotApproveError(f"This draft was {done} meanwhile.")
        content = build_content(found.fields)
        if approval_hash(found, content) != seen:
            raise CannotApproveError(
                "This draft was changed after you looked at it. Nothing was approved; look again."
            )
        if approver_of(found, content) == by:
            return
        # Guarded by the revision against a concurrent save.
        unchanged = Draft.objects.filter(pk=draft, revision=found.revision, edition__isnull=True)
        if not unchanged.update(approved_by=by, approved_hash=seen, approved_at=Now()):
            raise CannotApproveError(
                "This draft was changed at this very moment. Nothing was approved; look again."
            )
        record_activity.record_draft_activity("approve_draft", by, found)


def approver_of(draft: Draft, content: Content | None = None) -> uuid.UUID | None:
    """Return whose approval counts for the draft as it is now."""
    by = draft.approved_by_id
    return by if by and _is_current(draft, content) and may(by, PUBLISH) else None


def approved_drafts(drafts: Iterable[Draft]) -> frozenset[uuid.UUID]:
    """Return which of these drafts have an approval that counts, with one query for each giver."""
    given = {draft.pk: draft.approved_by_id for draft in drafts if _is_current(draft)}
    givers = {by for by in given.values() if by is not None and may(by, PUBLISH)}
    return frozenset(draft for draft, by in given.items() if by in givers)


def _is_current(draft: Draft, content: Content | None = None) -> bool:
    if draft.approved_hash is None:
        return False
    return bytes(draft.approved_hash) == approval_hash(draft, content)


def approval_refusal(draft: Draft, publisher: uuid.UUID, content: Content | None = None) -> str:
    """Return why `publisher` may not publish this draft without a second person, or nothing."""
    if not needs_approval():
        return ""
    approver = approver_of(draft, content)
    if approver not in (None, publisher):
        return ""
    if approver is not None:
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
    """Return who approved an edition, with the setting locked. Raises `NeedsApprovalError`."""
    newsletter = Newsletter.objects.get_current()
    with connection.cursor() as cursor:
        # A statement of its own sees the change that it waited for.
        cursor.execute(
            "SELECT second_person FROM newsletter WHERE id = %s FOR SHARE", [newsletter.pk]
        )
        (needs_second,) = cursor.fetchone()
    second = approved_by if approved_by != publisher else None
    if second is not None and not may(second, PUBLISH):
        second = None
    if needs_second and second is None:
        raise NeedsApprovalError(NEEDS_TWO)
    return second

"""A second person's approval of a draft, for exactly the mail that is sent.

Its hash covers the composed mail and the sender. So a change of the draft, a fallback, the footer,
the look or the sender invalidates it."""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.models import Newsletter
from publishing.activity import record_activity
from publishing.content.compose_content import edition_columns
from publishing.content.draft_content import build_content
from publishing.content.edition_content import Content
from publishing.display_name import named
from publishing.editions.approved_sender import sender_lines
from publishing.editions.status import load_status
from publishing.models import Draft
from publishing.permissions import PUBLISH, may

NEEDS_TWO = gettext_lazy(
    "This newsletter requires a second person's approval. Save the issue as a draft, and ask "
    "another author who may publish to approve it."
)


class NeedsApprovalError(Exception):
    """Publishing requires approval, and no second person has approved this."""


class CannotApproveError(Exception):
    """The draft cannot be approved; the message is the reason."""


def needs_approval() -> bool:
    """Return whether publishing requires approval now."""
    return Newsletter.objects.get_current().second_person


# The columns of an edition that reach readers, besides those that do not depend on the draft.
_SENT = (
    *("title", "preheader", "html_content", "text_content", "merge_fields"),
    *("html_mail", "text_mail"),
)


def approval_hash(
    draft: Draft, content: Content | None = None, columns: Mapping[str, Any] | None = None
) -> bytes:
    """Return the hash of a draft's mail, sender and readers, 32 bytes.

    `columns` are the content's, if they are composed already."""
    content = content or build_content(draft.fields)
    columns = columns or edition_columns(content)
    newsletter = Newsletter.objects.get_current()
    sent = [*(columns[name] for name in _SENT), sender_lines(newsletter)]
    target = f"{draft.issue_id}\0{draft.goes_to}\0{draft.unlisted}"
    if draft.with_tags or draft.without_tags:
        target += f"\0{draft.with_tags}\0{draft.without_tags}"
    if draft.address:
        target += f"\0{draft.address}"
    target += json.dumps(sent)
    return hashlib.sha256(content.sha256 + target.encode()).digest()


def approve(draft: uuid.UUID, by: uuid.UUID, seen: bytes) -> None:
    """Approve a draft whose hash is still `seen`. Raises `CannotApproveError`."""
    if not may(by, PUBLISH):
        raise CannotApproveError(_("You need the permission to publish before you can approve."))
    with transaction.atomic():
        found = Draft.objects.filter(pk=draft).first()
        if found is None:
            raise CannotApproveError(_("This draft was deleted. Nothing was approved."))
        if found.edition_id is not None:
            if load_status(found.edition_id).counts.has_started:
                raise CannotApproveError(_("This draft was already published."))
            raise CannotApproveError(_("This draft was already scheduled."))
        content = build_content(found.fields)
        if approval_hash(found, content) != seen:
            raise CannotApproveError(
                _(
                    "This draft or a setting of the letter was changed after you opened it. "
                    "Nothing was approved. Check it again."
                )
            )
        if approver_of(found, content) == by:
            return
        # Guarded by the revision against a concurrent save.
        unchanged = Draft.objects.filter(pk=draft, revision=found.revision, edition__isnull=True)
        if not unchanged.update(approved_by=by, approved_hash=seen, approved_at=Now()):
            raise CannotApproveError(
                _("This draft was changed just now. Nothing was approved. Check it again.")
            )
        record_activity.record_draft_activity("approve_draft", by, found)


def approver_of(
    draft: Draft, content: Content | None = None, columns: Mapping[str, Any] | None = None
) -> uuid.UUID | None:
    """Return the user whose approval is valid for the present draft, if any."""
    by = draft.approved_by_id
    return by if by and _is_current(draft, content, columns) and may(by, PUBLISH) else None


def approved_drafts(drafts: Iterable[Draft]) -> frozenset[uuid.UUID]:
    """Return the drafts with a valid approval, with one query for each approver."""
    given = {draft.pk: draft.approved_by_id for draft in drafts if _is_current(draft)}
    givers = {by for by in given.values() if by is not None and may(by, PUBLISH)}
    return frozenset(draft for draft, by in given.items() if by in givers)


def _is_current(
    draft: Draft, content: Content | None = None, columns: Mapping[str, Any] | None = None
) -> bool:
    if draft.approved_hash is None:
        return False
    return bytes(draft.approved_hash) == approval_hash(draft, content, columns)


def approval_refusal(draft: Draft, publisher: uuid.UUID, content: Content | None = None) -> str:
    """Return why `publisher` needs a second person for this draft; empty if not."""
    if not needs_approval():
        return ""
    approver = approver_of(draft, content)
    if approver not in (None, publisher):
        return ""
    if approver is not None:
        return _(
            "You approved this version, so another author must publish it. This newsletter "
            "requires a second person's approval."
        )
    if draft.approved_by_id is not None and draft.approved_hash is not None:
        return _(
            "The approval by {name} is no longer valid: the draft, a fallback, the sender, the "
            "footer or the look was changed, or {name} may no longer publish. Another author who "
            "may publish must approve it again."
        ).format(name=named(draft.approved_by_id))
    return _(
        "This newsletter requires a second person's approval. Another author who may publish must "
        "approve this draft first."
    )


def second_of(publisher: uuid.UUID, approved_by: uuid.UUID | None) -> uuid.UUID | None:
    """
    Return the valid second approver of an edition, if any, and lock the setting.

    Raises `NeedsApprovalError` if an approver is required and missing.
    """
    needs_second = hold_newsletter()
    second = approved_by if approved_by != publisher else None
    if second is not None and not may(second, PUBLISH):
        second = None
    if needs_second and second is None:
        raise NeedsApprovalError(str(NEEDS_TWO))
    return second


def hold_newsletter() -> bool:
    """Lock the settings for this transaction; return whether approval is required."""
    newsletter = Newsletter.objects.get_current()
    with connection.cursor() as cursor:
        # If another transaction is changing the setting, this waits for it and reads the new value.
        cursor.execute(
            "SELECT second_person FROM newsletter WHERE id = %s FOR SHARE", [newsletter.pk]
        )
        (needs_second,) = cursor.fetchone()
    return bool(needs_second)

"""Record a second person's approval of a draft, for exactly the mail that is sent.

The hash of an approval covers the composed mail and the sender. A change of the draft, a fallback,
the footer, the look or the sender makes the approval invalid.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.models import Newsletter
from publishing.activity import record_issue_activity
from publishing.approval.approval_rules import (
    ApprovalRule,
    Verdict,
    has_too_few,
    judge,
)
from publishing.content.compose_content import edition_columns
from publishing.content.edition_content import Content
from publishing.desk_permissions import PUBLISH, load_publishers, may
from publishing.display_name import called, named
from publishing.editions.approved_sender import sender_lines
from publishing.editions.archive_visibility import content_of, visibility_of_draft
from publishing.editions.edition_status import load_status
from publishing.models import Draft

NEEDS_TWO = gettext_lazy(
    "This newsletter requires a second person's approval. Save the issue as a draft, and ask "
    "another author who may publish to approve it."
)


class NeedsApprovalError(Exception):
    """Publishing requires approval, and no second person has approved this draft."""


class CannotApproveError(Exception):
    """The draft cannot be approved; the message is the reason."""


def rule_of(newsletter: Newsletter) -> ApprovalRule:
    """Return the rule of approval that these settings contain."""
    return ApprovalRule(newsletter.second_person, newsletter.approver_may_publish)


def current_rule() -> ApprovalRule:
    """Return the current rule of approval."""
    return rule_of(Newsletter.objects.get_current())


def needs_approval() -> bool:
    """Return whether publishing requires approval now."""
    return current_rule().is_required


def approval_hash(
    draft: Draft, content: Content | None = None, columns: Mapping[str, Any] | None = None
) -> bytes:
    """Return a hash (32 bytes) of a draft's mail, sender and audience.

    `columns` are the columns of the composed content, if the caller has composed it already.
    """
    content = content or content_of(draft)
    columns = columns or edition_columns(content)
    # Hash each value with its name. Without the names, two different drafts could have the same
    # hash.
    approved = {
        **{name: value for name, value in columns.items() if name != "content_hash"},
        "content": content.sha256.hex(),
        "sender": sender_lines(Newsletter.objects.get_current()),
        "issue": str(draft.issue_id),
        "goes_to": draft.goes_to,
        "tags": [draft.with_tags, draft.without_tags],
        "visibility": visibility_of_draft(draft),
        "without_note": draft.without_note,
        "address": draft.address,
    }
    return hashlib.sha256(json.dumps(approved, sort_keys=True).encode()).digest()


def approve(draft: uuid.UUID, by: uuid.UUID, seen: bytes) -> None:
    """Approve a draft if its hash still equals `seen`. Raises `CannotApproveError`."""
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
        content = content_of(found)
        if approval_hash(found, content) != seen:
            raise CannotApproveError(
                _(
                    "This draft or a setting of the letter was changed after you opened it. "
                    "Nothing was approved. Check it again."
                )
            )
        if approver_of(found, content) == by:
            return
        # If a concurrent save changed the draft, its revision differs and this update changes no
        # row.
        unchanged = Draft.objects.filter(pk=draft, revision=found.revision, edition__isnull=True)
        if not unchanged.update(approved_by=by, approved_hash=seen, approved_at=Now()):
            raise CannotApproveError(
                _("This draft was changed just now. Nothing was approved. Check it again.")
            )
        record_issue_activity.record_draft_activity("approve_draft", by, found)


def approver_of(
    draft: Draft, content: Content | None = None, columns: Mapping[str, Any] | None = None
) -> uuid.UUID | None:
    """Return the user whose approval is valid for the draft as it is now, if any."""
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
    """Return why the rule of approval forbids that `publisher` publishes this draft.

    The result is empty if `publisher` may publish the draft.
    """
    rule = current_rule()
    if not rule.is_required:
        return ""
    approver = approver_of(draft, content)
    verdict = judge(rule, publisher=publisher, approver=approver, writer=draft.saved_by_id)
    others = [one for one in load_publishers() if one.pk != publisher]
    match verdict:
        case Verdict.ALLOWED:
            return ""
        case Verdict.APPROVER_PUBLISHES:
            sentence = _(
                "You approved this version, so another author must publish it. This newsletter "
                "requires a second person's approval."
            )
        case Verdict.OWN_WORDS if draft.saved_by_id is None:
            sentence = _(
                "You approved this version, and the account that saved it last was deleted. So "
                "another author must publish or approve it. This newsletter requires a second "
                "person's approval."
            )
        case Verdict.OWN_WORDS:
            sentence = _(
                "You approved this version and saved it last, so another author must publish or "
                "approve it. This newsletter requires a second person's approval."
            )
        case _ if draft.approved_by_id is not None and draft.approved_hash is not None:
            sentence = _(
                "The approval by {name} is no longer valid: the draft, a fallback, the sender, "
                "the footer or the look was changed, or {name} may no longer publish. Another "
                "author who may publish must approve it again."
            ).format(name=named(draft.approved_by_id))
        case _:
            sentence = _(
                "This newsletter requires a second person's approval. Another author who may "
                "publish must approve this draft first."
            )
    may_alone = judge(rule, publisher=publisher, approver=publisher, writer=draft.saved_by_id)
    if verdict is Verdict.NOT_APPROVED and may_alone is Verdict.ALLOWED and may(publisher, PUBLISH):
        remedy = _("{name} saved it last, so you may approve it and publish it.")
        return f"{sentence} {remedy.format(name=named(draft.saved_by_id))}"
    return f"{sentence} {_who_can(others)}"


def _who_can(others: Sequence[object]) -> str:
    if not others:
        return _(
            "No other account may publish. Ask your administrator for one, or an operator to "
            "change the rule under Settings."
        )
    names = get_text_list([called(one) for one in others], _("or"))
    return _("Ask {names}.").format(names=names)


def switch_on_refusal() -> str:
    """Return why approval cannot be required now; empty if it can be required."""
    names = [called(one) for one in load_publishers()]
    if not has_too_few(ApprovalRule(is_required=True, approver_may_publish=False), len(names)):
        return ""
    return ngettext(
        "{n} person may publish now: {names}. Approval needs two. Add an account to the group "
        "Publishers first, or nothing could be published.",
        "{n} people may publish now. Approval needs two. Add accounts to the group Publishers "
        "first, or nothing could be published.",
        len(names),
    ).format(n=len(names), names="".join(names))


def shortage_sentence(rule: ApprovalRule) -> str:
    """Say why nobody can approve some letters, and what to do; empty if somebody can."""
    names = [called(one) for one in load_publishers()] if rule.is_required else []
    if not has_too_few(rule, len(names)):
        return ""
    if names and rule.approver_may_publish:
        return _(
            "Only {name} may publish, so nobody can approve a letter that {name} saved last. Add "
            "an account to the group Publishers, or do not require the approval."
        ).format(name=names[0])
    return _(
        "Fewer than two people may publish, so letters wait for an approval that nobody can give. "
        "Add an account to the group Publishers, or do not require the approval."
    )


def second_of(
    publisher: uuid.UUID, approved_by: uuid.UUID | None, writer: uuid.UUID | None = None
) -> uuid.UUID | None:
    """Lock the rule of approval, and return the valid approver of an edition, if any.

    `writer` is the user who saved the draft last. If the rule allows it, the approver of another
    user's draft may also publish this draft.

    Raises `NeedsApprovalError` if an approver is required and missing.
    """
    rule = hold_newsletter()
    second = approved_by
    if second is not None and not may(second, PUBLISH):
        second = None
    verdict = judge(rule, publisher=publisher, approver=second, writer=writer)
    if verdict is not Verdict.ALLOWED:
        raise NeedsApprovalError(str(NEEDS_TWO))
    return None if second == publisher and not rule.is_required else second


def hold_newsletter() -> ApprovalRule:
    """Lock the settings for this transaction, and return the rule of approval."""
    newsletter = Newsletter.objects.get_current()
    with connection.cursor() as cursor:
        # If another transaction is changing the rule, this query waits for the commit and reads the
        # new rule.
        cursor.execute(
            "SELECT second_person, approver_may_publish FROM newsletter WHERE id = %s FOR SHARE",
            [newsletter.pk],
        )
        return ApprovalRule(*cursor.fetchone())

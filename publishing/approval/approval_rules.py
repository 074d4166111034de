"""Decide who may publish a draft if a second person must approve it."""

import uuid
from dataclasses import dataclass
from enum import StrEnum

FEWEST_PUBLISHERS = 2


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Whether approval is required, and whether the approver may also publish."""

    is_required: bool
    approver_may_publish: bool


class Verdict(StrEnum):
    """Whether a publisher may publish a draft now, or why not."""

    ALLOWED = "allowed"
    NOT_APPROVED = "not_approved"
    APPROVER_PUBLISHES = "approver_publishes"  # the settings forbid that the approver publishes
    OWN_WORDS = "own_words"  # the approver, or a deleted account, saved the draft last


def has_too_few(rule: ApprovalRule, publishers: int) -> bool:
    """Return whether the users who may publish are too few to approve every letter."""
    return rule.is_required and publishers < FEWEST_PUBLISHERS


def judge(
    rule: ApprovalRule,
    *,
    publisher: uuid.UUID,
    approver: uuid.UUID | None,
    writer: uuid.UUID | None,
) -> Verdict:
    """Decide whether `publisher` may publish a draft that `writer` saved last.

    `approver` is the user whose approval is valid now, if any. If approval is required, a
    publication needs two different people: approver and publisher, or approver and writer.
    """
    if not rule.is_required or (approver is not None and approver != publisher):
        return Verdict.ALLOWED
    if approver is None:
        return Verdict.NOT_APPROVED
    if not rule.approver_may_publish:
        return Verdict.APPROVER_PUBLISHES
    return Verdict.OWN_WORDS if writer in (None, approver) else Verdict.ALLOWED

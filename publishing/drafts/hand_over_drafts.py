"""Hand an author's open drafts over to another author."""

import uuid

from django.db.models import QuerySet

from publishing.models import Draft


def drafts_of(author: uuid.UUID) -> QuerySet[Draft]:
    """Select the open drafts that this author saved last."""
    return Draft.objects.filter(edition=None, saved_by=author)


def hand_over_drafts(author: uuid.UUID, successor: uuid.UUID) -> int:
    """Make the successor the one who saved the author's open drafts; return how many.

    The text, its revision and the approval stay. The rule of a second person now counts the
    successor as the writer (publishing/approval/approval_rules.py).
    """
    return drafts_of(author).update(saved_by=successor)

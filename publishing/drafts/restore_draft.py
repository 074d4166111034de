"""
An issue that was taken back before anybody got it is a draft again, with every word in it.

Nobody should have to look for words that nobody has read yet.
"""

from __future__ import annotations

from django.db import transaction

from delivery.models import Edition
from publishing.display_name import is_there
from publishing.drafts import drafts
from publishing.editions.status import load_status
from publishing.editions.versions import versions_of
from publishing.models import Draft, Issue

IS_A_DRAFT = "It reached nobody. The issue is a draft again, with every word in it."
HAS_A_DRAFT = (
    "It reached nobody. The issue has an open draft already; the words that were taken back stay "
    "with this version."
)


def reached_nobody(edition: int) -> bool:
    """Whether an edition is over and no copy of it went out, or may have."""
    books = load_status(edition).books
    is_over = books.control == "cancelled" and not books.is_transactional
    return is_over and not (books.sent or books.unknown or books.waiting)


def restore_draft(edition: Edition) -> str:
    """
    See to it that the issue of an edition that reached nobody has an open draft; what to say of it.

    Empty, and nothing is done, if it reached somebody or there is a newer version. What somebody is
    writing already is left as it is. The draft goes to whom the edition was to go.
    """
    if not reached_nobody(edition.pk):
        return ""
    with transaction.atomic():
        # Of two at once the second finds the draft of the first.
        Issue.objects.select_for_update(no_key=True).get(pk=edition.issue_id)
        newest = versions_of(edition.issue_id).first()
        if newest is None or newest.pk != edition.pk:
            return ""
        if drafts.open_draft_of_issue(edition.issue_id) is not None:
            return HAS_A_DRAFT
        author = newest.author_id if is_there(newest.author_id) else None
        draft = drafts.open_for_issue(author, edition.issue_id)
        Draft.objects.filter(pk=draft.pk).update(goes_to=newest.goes_to)
    return IS_A_DRAFT

"""Reopen an issue as a draft if it was cancelled before any reader got it."""

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from delivery.models import Edition
from publishing.display_name import is_there
from publishing.drafts import save_draft
from publishing.editions.edition_status import load_status
from publishing.editions.versions import versions_of
from publishing.models import Draft, Issue

IS_A_DRAFT = _("The issue is a draft again, with all its content.")
HAS_A_DRAFT = _(
    "The issue already has an open draft. The content that was called back stays with this version."
)


def reached_nobody(edition: int) -> bool:
    """Return whether an edition was cancelled and certainly no copy of it was sent."""
    counts = load_status(edition).counts
    is_cancelled = counts.control == "cancelled" and not counts.is_transactional
    return is_cancelled and not (counts.sent or counts.unknown or counts.waiting)


def restore_draft(edition: Edition) -> str:
    """Reopen the newest edition as a draft if it reached nobody.

    Return a sentence about it.
    """
    if not reached_nobody(edition.pk):
        return ""
    with transaction.atomic():
        # The lock makes a second caller wait, and then find the draft that the first caller made.
        Issue.objects.select_for_update(no_key=True).get(pk=edition.issue_id)
        newest = versions_of(edition.issue_id).first()
        if newest is None or newest.pk != edition.pk:
            return ""
        if save_draft.open_draft_of_issue(edition.issue_id) is not None:
            return str(HAS_A_DRAFT)
        author = newest.author_id if is_there(newest.author_id) else None
        draft = save_draft.open_for_issue(author, edition.issue_id)
        before = Draft.objects.filter(edition=newest).first()
        # Keep the writer, because another author may have published the draft.
        kept = {"address": before.address, "saved_by": before.saved_by_id} if before else {}
        Draft.objects.filter(pk=draft.pk).update(goes_to=newest.goes_to, **kept)
    return str(IS_A_DRAFT)

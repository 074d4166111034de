"""Who published and who resumed what, in the log that the admin shows."""

from __future__ import annotations

import uuid

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry

from delivery.models import Edition
from publishing.models import Issue
from publishing.versions import WORDS_FOR


def record_publication(author: uuid.UUID, edition: Edition) -> None:
    """An edition was published. In the same transaction, so that neither is there alone."""
    readers = f"{edition.audience:,} {'reader' if edition.audience == 1 else 'readers'}"
    # A first version goes to everyone; of any other it has to be said.
    whom = readers if edition.version == 1 else f"{WORDS_FOR[edition.goes_to]}: {readers}"
    _record(author, edition, ADDITION, f"Published version {edition.version} to {whom}.")


def record_action(author: uuid.UUID, edition: Edition, action: str) -> None:
    """A person did something to an edition: `resume` and its like."""
    _record(author, edition, CHANGE, f"{action.capitalize()}, version {edition.version}.")


def _record(author: uuid.UUID, edition: Edition, flag: int, sentence: str) -> None:
    LogEntry.objects.log_actions(
        author,
        Issue.objects.filter(pk=edition.issue_id),
        flag,
        change_message=sentence,
        single_object=True,
    )

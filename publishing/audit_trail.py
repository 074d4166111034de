"""Who published and who resumed what, in the log that the admin shows."""

from __future__ import annotations

import logging
import uuid

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth import get_user_model

from delivery.models import Edition
from publishing.models import Issue
from publishing.versions import WORDS_FOR

logger = logging.getLogger(__name__)


def record_publication(author: uuid.UUID, edition: Edition, *, unlisted: bool = False) -> None:
    """An edition was published. In the same transaction, so that neither is there alone."""
    readers = f"{edition.audience:,} {'reader' if edition.audience == 1 else 'readers'}"
    # A first version goes to everyone; of any other it has to be said.
    whom = readers if edition.version == 1 else f"{WORDS_FOR[edition.goes_to]}: {readers}"
    listing = ", unlisted" if unlisted else ""
    sentence = f"Published version {edition.version} to {whom}{listing}."
    _record(author, edition.issue_id, ADDITION, sentence)


def record_listing(author: uuid.UUID, issue: uuid.UUID, *, unlisted: bool) -> None:
    """A person took an issue out of the archive's lists, or put it in."""
    _record(author, issue, CHANGE, f"Made {'unlisted' if unlisted else 'listed'}.")


def record_action(author: uuid.UUID, edition: Edition, action: str) -> None:
    """A person did something to an edition: `resume` and its like."""
    _record(author, edition.issue_id, CHANGE, f"{action.capitalize()}, version {edition.version}.")


def record_action_from_the_command_line(edition: Edition, action: str) -> None:
    """
    An operator did something to an edition. Nobody is signed in there: it stands under the only
    superuser where there is one, as publishing from a script does, and in the program's log always.
    """
    logger.info(
        "edition %d was %s from the command line", edition.pk, action, extra={"edition": edition.pk}
    )
    superusers = list(get_user_model().objects.filter(is_active=True, is_superuser=True)[:2])
    if len(superusers) == 1:
        record_action(superusers[0].pk, edition, f"{action} from the command line")


def _record(author: uuid.UUID, issue: uuid.UUID, flag: int, sentence: str) -> None:
    LogEntry.objects.log_actions(
        author,
        Issue.objects.filter(pk=issue),
        flag,
        change_message=sentence,
        single_object=True,
    )

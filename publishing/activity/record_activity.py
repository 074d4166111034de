"""Who wrote, published and resumed what, in the log that the admin shows."""

from __future__ import annotations

import logging
import uuid

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth import get_user_model
from django.db import transaction

from delivery import log_context
from delivery.humanise import counted_readers
from delivery.models import Edition
from delivery.rules.edition_counts import AUDIENCE_WORDS
from delivery.rules.scheduled_time import Moment
from publishing.display_name import called, is_there
from publishing.models import Draft, Issue

logger = logging.getLogger(__name__)


def record_publication(author: uuid.UUID, edition: Edition, *, unlisted: bool = False) -> None:
    """An edition was published. In the same transaction, so that neither is there alone."""
    readers = counted_readers(edition.audience)
    # A first version goes to everyone; of any other it has to be said.
    whom = AUDIENCE_WORDS[edition.goes_to]
    if edition.goes_to != Edition.GoesTo.NOBODY:
        whom = readers if edition.version == 1 else f"{whom}: {readers}"
    listing = ", unlisted" if unlisted else ""
    second = f", approved by {called(edition.approved_by)}" if edition.approved_by_id else ""
    sentence = f"Published version {edition.version} to {whom}{listing}{second}."
    _record(author, edition.issue_id, ADDITION, sentence)


def record_approval(approver: uuid.UUID, draft: Draft) -> None:
    """Somebody agreed to a draft, where publishing takes two. In the approving transaction."""
    sentence = f"Approved to be published, revision {draft.revision}."
    _record_draft(approver, draft, CHANGE, sentence)


def record_scheduling(
    author: uuid.UUID, edition: Edition, at: Moment, *, unlisted: bool = False
) -> None:
    """An edition waits for its time. In the same transaction, as when it is published."""
    listing = ", unlisted" if unlisted else ""
    second = f", approved by {called(edition.approved_by)}" if edition.approved_by_id else ""
    by_then = "" if edition.goes_to == Edition.GoesTo.NOBODY else " by then"
    sentence = (
        f"Scheduled version {edition.version} for {at.words}, to {AUDIENCE_WORDS[edition.goes_to]}"
        f"{by_then}{listing}{second}."
    )
    _record(author, edition.issue_id, ADDITION, sentence)


def record_rescheduling(author: uuid.UUID, edition: Edition, before: Moment, at: Moment) -> None:
    """A person gave a scheduled edition another time. In the same transaction."""
    sentence = (
        f"Rescheduled version {edition.version} for {at.words}; it was to go out {before.words}."
    )
    _log(edition, f"rescheduled for {at.words}")
    _record(author, edition.issue_id, CHANGE, sentence)


def record_draft_begun(author: uuid.UUID, draft: Draft) -> None:
    """Somebody began to write."""
    _record_draft(author, draft, ADDITION, "Began a draft.")


def record_draft_edited(author: uuid.UUID, draft: Draft) -> None:
    """Somebody else than whoever saved last went on writing; what follows of theirs is not told."""
    _record_draft(author, draft, CHANGE, "Went on writing what somebody else had saved.")


def record_draft_thrown_away(author: uuid.UUID, draft: Draft) -> None:
    """Somebody threw a draft away. Its words are gone; that they were there is known."""
    _record_draft(author, draft, DELETION, "Threw the draft away.")


def record_start(
    edition: Edition, late: str, *, is_paused: bool, went_out_before: bool = False
) -> None:
    """
    A scheduled edition began by itself, under the name of whoever scheduled it. In the same
    transaction. `late` is how late, empty if it was in time.
    """
    readers = counted_readers(edition.audience)
    if went_out_before:
        how = (
            "was found at Postmark after the database was restored, so it had gone out; it is "
            f"paused, with {readers} in its audience"
        )
    elif is_paused:
        how = (
            f"was due {late} before and no worker had started it; it is published to {readers} "
            "and paused"
        )
    elif late:
        how = f"went out by itself to {readers}, {late} late: no worker had started it before"
    else:
        how = f"went out by itself at its time, to {readers}"
    # An account may have been deleted since. That must not keep the issue from its readers.
    author = edition.author_id
    if author is not None and is_there(author):
        _record(author, edition.issue_id, CHANGE, f"Version {edition.version} {how}.")


def record_listing(author: uuid.UUID, issue: uuid.UUID, *, unlisted: bool) -> None:
    """A person took an issue out of the archive's lists, or put it in."""
    _record(author, issue, CHANGE, f"Made {'unlisted' if unlisted else 'listed'}.")


def record_action(author: uuid.UUID, edition: Edition, action: str) -> None:
    """
    A person did something to an edition: `resume` and its like. In the program's log as well: a
    restored backup does not know what was paused or cancelled since, and a person goes by that.
    """
    _log(edition, action)
    _record_in_the_trail(author, edition, action)


def record_download(author: uuid.UUID, edition: Edition, outcome: str) -> None:
    """A person took the readers of an edition away as a file."""
    which = "all readers" if outcome == "all" else f"the {outcome} readers"
    sentence = f"Downloaded {which} of version {edition.version} as CSV."
    _record(author, edition.issue_id, CHANGE, sentence)


def record_action_from_the_command_line(edition: Edition, action: str) -> None:
    """
    An operator did something to an edition. Nobody is signed in there: it stands under the only
    superuser where there is one, as publishing from a script does, and in the program's log always.
    """
    _record_for_the_operator(edition, action)


def record_copies_dropped_from_the_command_line(edition: Edition) -> None:
    """An operator dropped who got an edition. In the same transaction; under whom, as above."""
    _record_for_the_operator(edition, "dropped the copies")


def _log(edition: Edition, action: str) -> None:
    log_context.bind(issue=edition.issue_id, version=edition.version)
    # Not before it is so: a person goes by the line.
    transaction.on_commit(
        lambda: logger.info("version %d of an issue: %s", edition.version, action)
    )


def _record_in_the_trail(author: uuid.UUID, edition: Edition, action: str) -> None:
    _record(author, edition.issue_id, CHANGE, f"{action.capitalize()}, version {edition.version}.")


def _record_for_the_operator(edition: Edition, action: str) -> None:
    action = f"{action} from the command line"
    _log(edition, action)
    superusers = list(get_user_model().objects.filter(is_active=True, is_superuser=True)[:2])
    if len(superusers) == 1:
        _record_in_the_trail(superusers[0].pk, edition, action)


def _record_draft(author: uuid.UUID, draft: Draft, flag: int, sentence: str) -> None:
    LogEntry.objects.log_actions(
        author,
        Draft.objects.filter(pk=draft.pk),
        flag,
        change_message=sentence,
        single_object=True,
    )


def _record(author: uuid.UUID, issue: uuid.UUID, flag: int, sentence: str) -> None:
    LogEntry.objects.log_actions(
        author,
        Issue.objects.filter(pk=issue),
        flag,
        change_message=sentence,
        single_object=True,
    )

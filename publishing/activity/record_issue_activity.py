"""Record actions on issues and drafts in the log that the desk and the admin show."""

import logging
import uuid
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.contrib.auth import get_user_model
from django.db import transaction

from delivery import log_context
from delivery.models import Edition
from delivery.rules.scheduled_time import ScheduledTime
from publishing.display_name import called, is_there
from publishing.models import Draft, Export, Issue, IssueMove, Visibility
from subscribers.record_activity import record_activity

logger = logging.getLogger(__name__)

_FLAGS = {
    **dict.fromkeys(("begin_draft", "request_export", "move_issues"), ADDITION),
    "delete_draft": DELETION,
}


def record_publication(
    author: uuid.UUID, edition: Edition, at: ScheduledTime | None, visibility: Visibility
) -> None:
    """Record a publication or scheduling, in the transaction that publishes."""
    record_edition_activity(
        "schedule" if at else "publish",
        author,
        edition,
        flag=ADDITION,
        goes_to=edition.goes_to,
        unlisted=visibility is not Visibility.PUBLIC,
        archive=visibility.value,
        with_tags=[name for tag, name in edition.with_tags],
        without_tags=[name for tag, name in edition.without_tags],
        approved_by=called(edition.approved_by) if edition.approved_by_id else "",
        **({"at": _moment(at)} if at else {"audience": edition.audience}),
    )


def record_rescheduling(
    author: uuid.UUID, edition: Edition, before: ScheduledTime, at: ScheduledTime
) -> None:
    """Record a rescheduling by an author, in the transaction that reschedules."""
    _log(edition, f"reschedule for {at.words}")
    record_edition_activity("reschedule", author, edition, at=_moment(at), before=_moment(before))


def record_start(
    edition: Edition, late_s: float, *, is_paused: bool, went_out_before: bool = False
) -> None:
    """Record an automatic start in the name of the author who scheduled the edition."""
    # If the author's account was deleted, the issue is sent, but the log gets no entry.
    if edition.author_id is not None and is_there(edition.author_id):
        record_edition_activity(
            "start",
            edition.author_id,
            edition,
            audience=edition.audience,
            late_s=late_s,
            is_paused=is_paused,
            went_out_before=went_out_before,
        )


def record_listing(author: uuid.UUID, issue: uuid.UUID, *, unlisted: bool) -> None:
    """Record that an author made an issue unlisted, or listed it again."""
    record_activity("unlist" if unlisted else "list", author, Issue.objects.get(pk=issue))


def record_action(author: uuid.UUID, edition: Edition, code: str) -> None:
    """Record an action in the activity log and in the program's log files.

    If the database is restored from a backup, the log files still have the action.
    """
    _log(edition, code)
    record_edition_activity(code, author, edition)


def record_action_from_the_command_line(edition: Edition, code: str) -> None:
    """Record an operator's action in the log files and, if possible, the activity log.

    The activity log gets an entry only if there is exactly one superuser: the entry names that
    account.
    """
    _log(edition, code + " from the command line")
    superusers = list(get_user_model().objects.filter(is_active=True, is_superuser=True)[:2])
    if len(superusers) == 1:
        record_edition_activity(code, superusers[0].pk, edition, from_command_line=True)


def record_draft_activity(code: str, author: uuid.UUID, draft: Draft) -> None:
    """Record what an author did with a draft, in the transaction of this action."""
    flag = _FLAGS.get(code, CHANGE)
    record_activity(code, author, draft, flag=flag, revision=draft.revision)


def record_task(code: str, by: uuid.UUID, task: Export | IssueMove) -> None:
    """Record that a user requests or downloads an export, or moves in past issues."""
    record_activity(code, by, task, flag=_FLAGS.get(code, CHANGE))


def _log(edition: Edition, what: str) -> None:
    log_context.bind(issue=edition.issue_id, version=edition.version)
    # Write this line after the commit, so that the log never names an action that was rolled back.
    transaction.on_commit(lambda: logger.info("version %d of an issue: %s", edition.version, what))


def record_edition_activity(
    code: str, author: uuid.UUID, edition: Edition, *, flag: int = CHANGE, **params: Any
) -> None:
    """Record an action only in the activity log, with the parameters of its sentence."""
    issue = Issue.objects.get(pk=edition.issue_id)
    record_activity(code, author, issue, flag=flag, version=edition.version, **params)


def _moment(at: ScheduledTime) -> dict[str, str]:
    return {"utc": at.utc.isoformat(), "local": at.local, "zone": at.zone}

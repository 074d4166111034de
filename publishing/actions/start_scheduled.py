"""
Starting what waited for its time: by a worker when it has come, or by a person before it.

One transaction makes the edition run, settles who gets it and puts their copies into the queue.
Two workers that start one edition start it once, and one that is killed has changed nothing.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from delivery import log_context
from delivery.interface import StartedEdition, control, scheduled_editions, short_transaction
from delivery.models import Edition
from delivery.rules.edition_counts import AUDIENCE_WORDS
from delivery.tasks.background_tasks import BackgroundTask
from publishing.activity.record_activity import record_start
from publishing.content.edition_content import Content
from publishing.editions.versions import NOBODY, enqueue_audience, select_audience
from publishing.models import Issue
from publishing.scheduling.local_time import is_too_late, late_pause_reason, scheduled_moment

logger = logging.getLogger(__name__)


def start_due(is_stopping: Callable[[], bool] = lambda: False) -> bool:
    """
    Start every edition whose time has come; whether there was any.

    One that cannot be started is logged and keeps no other from its time. The last such fault is
    raised at the end, so that whoever tries again does so more and more slowly.
    """
    started = False
    fault: Exception | None = None
    for edition in scheduled_editions.due():
        if is_stopping():
            break
        with log_context.scope():
            try:
                started |= _start_in_time(edition)
            except Exception as error:
                logger.exception("edition %d was to start and could not", edition)
                fault = error
    if fault is not None:
        raise fault
    return started


CHORE = BackgroundTask(
    "issues whose time has come", start_due, lambda: bool(scheduled_editions.due())
)


def start_now(edition: int) -> int | None:
    """
    A person sends a scheduled edition before its time; to how many readers.

    None if it is not scheduled any more, or is not to be sent before it is reconciled.
    """
    with short_transaction() as cursor:
        begun = scheduled_editions.begin(cursor, edition, at_once=True)
        return _fill(edition).audience if begun else None


def _start_in_time(edition: int) -> bool:
    with short_transaction() as cursor:
        begun = scheduled_editions.begin(cursor, edition)
        if begun is None:
            return False
        filled = _fill(edition)
        _hold_back_if_late(cursor, filled, begun)
        log_context.bind(issue=filled.issue_id, version=filled.version)
    logger.info("edition %d started by itself", edition)
    return True


def _hold_back_if_late(cursor: CursorWrapper, edition: Edition, begun: StartedEdition) -> None:
    """What is very late waits for a person; the audit trail says how it went either way."""
    moment = scheduled_moment(edition)
    if moment is None:
        raise AssertionError(f"edition {edition.pk} was scheduled for no time")
    paused = is_too_late(begun.scheduled_for, begun.at, settings.SCHEDULE_LATE_S)
    if paused:
        control.pause_automatically(cursor, edition.pk, late_pause_reason(moment, begun.at))
    late_s = (begun.at - begun.scheduled_for).total_seconds()
    record_start(edition, round(late_s), is_paused=paused)


def _fill(edition: int) -> Edition:
    """Settle who gets it and enqueue their copies, in the transaction that made it run."""
    begun = Edition.objects.get(pk=edition)
    enqueue_audience(begun)
    if begun.version > 1:
        title = Content(begun.title, "", "").plain_title
        Issue.objects.filter(pk=begun.issue_id).update(title=title)
    return begun


@dataclass(frozen=True, slots=True)
class RegisteredStarter:
    """Answers delivery, which may not ask here itself (delivery/hooks/start_scheduled.py)."""

    def start_what_went_out(self, edition: int) -> bool:
        """Publish what a restored database took for scheduled, and have a person decide."""
        with short_transaction() as cursor:
            if scheduled_editions.begin_what_went_out(cursor, edition) is None:
                return False
            filled = _fill(edition)
            control.pause_after_restore(cursor, edition)
            record_start(filled, 0, is_paused=True, went_out_before=True)
        return True


def confirmed_now(issue: uuid.UUID, version: int, goes_to: str) -> int:
    """How many readers it would go to now."""
    return select_audience(issue, version, goes_to).count()


def waits_for_its_time(edition: Edition) -> str:
    """What is said of an edition that was scheduled."""
    moment = scheduled_moment(edition)
    when = moment.words if moment else "at its time"
    if edition.goes_to == NOBODY:
        return f"Scheduled. It appears in the archive {when} and is not mailed."
    return (
        f"Scheduled. It goes out {when}, to {AUDIENCE_WORDS[edition.goes_to]} by then. Until then "
        "it can be called back."
    )

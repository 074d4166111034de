"""Start scheduled editions, each in one transaction with its deliveries."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from delivery import log_context
from delivery.interface import (
    Reason,
    ReasonCode,
    edition_control,
    scheduled_editions,
    short_transaction,
)
from delivery.models import Edition
from delivery.tasks.register_background_task import BackgroundTask
from publishing.activity.record_issue_activity import record_start
from publishing.content.edition_content import plain_title
from publishing.editions import approved_sender
from publishing.editions.audience import enqueue_audience
from publishing.models import Issue
from publishing.scheduling.local_time import scheduled_time_of

logger = logging.getLogger(__name__)


def start_due(is_stopping: Callable[[], bool] = lambda: False) -> bool:
    """Start every due edition; return whether any edition started.

    If some editions cannot be started, the others are started, and the last error is raised at the
    end.
    """
    started = False
    error_raised: Exception | None = None
    for edition in scheduled_editions.due().values_list("pk", flat=True):
        if is_stopping():
            break
        with log_context.scope():
            try:
                started |= _start_in_time(edition)
            except Exception as error:
                logger.exception("edition %d could not be started", edition)
                error_raised = error
    if error_raised is not None:
        raise error_raised
    return started


START_TASK = BackgroundTask("scheduled issues", start_due, lambda: [scheduled_editions.due()])


def start_now(edition: int) -> int | None:
    """Start a scheduled edition before its time.

    Return the number of the edition's readers, or None if the edition may not start.
    """
    with short_transaction():
        if not scheduled_editions.begin(edition, immediately=True):
            return None
        return _fill(edition).audience


def _start_in_time(edition: int) -> bool:
    with short_transaction() as cursor:
        if not scheduled_editions.begin(edition):
            return False
        filled = _fill(edition)
        _pause_if_needed(cursor, filled)
        log_context.bind(issue=filled.issue_id, version=filled.version)
    logger.info("edition %d started at its time", edition)
    return True


def _pause_if_needed(cursor: CursorWrapper, edition: Edition) -> None:
    moment = scheduled_time_of(edition)
    if moment is None:
        raise AssertionError(f"edition {edition.pk} has no scheduled time")
    outdated = approved_sender.is_outdated(edition.pk)
    late_s = (edition.published_at - moment.utc).total_seconds()
    late = late_s > settings.SCHEDULE_LATE_S
    if outdated:
        reason = Reason.of(ReasonCode.APPROVAL_OUTDATED)
        edition_control.pause_automatically(cursor, edition.pk, reason)
    elif late:
        reason = Reason.of(
            ReasonCode.STARTED_LATE,
            scheduled_for=moment.utc.isoformat(),
            local=moment.local,
            zone=moment.zone,
            started_at=edition.published_at.isoformat(),
        )
        edition_control.pause_automatically(cursor, edition.pk, reason)
    record_start(edition, round(late_s), is_paused=outdated or late)


def _fill(edition: int) -> Edition:
    begun = Edition.objects.get(pk=edition)
    enqueue_audience(begun)
    if begun.version > 1:
        Issue.objects.filter(pk=begun.issue_id).update(title=plain_title(begun))
    return begun


def start_sent_before_restore(edition: int) -> bool:
    """Start and pause an edition that a restored backup made scheduled again.

    Return False if the edition is no longer scheduled.
    """
    with short_transaction():
        if not scheduled_editions.begin_sent_before_restore(edition):
            return False
        filled = _fill(edition)
        edition_control.pause_after_restore(edition)
        record_start(filled, 0, is_paused=True, went_out_before=True)
    return True

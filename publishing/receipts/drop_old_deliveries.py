"""
Dropping the copies of an issue that is over and old: what has to be there before they go, and why
they may not.

Its receipt is made first, from the rows: what it says is all that is left of who was in the
audience. Its counts, its words and its page in the archive stay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from django.conf import settings

from delivery.interface import together
from delivery.models import Edition
from delivery.retention import drop_deliveries
from delivery.retention.drop_deliveries import DropResult, DropStatus, load_drop_status
from delivery.rules.provider_retention import provider_retention_days
from publishing.activity.record_activity import record_action_from_the_command_line
from publishing.editions.dropped_sentence import since_when
from publishing.editions.status import load_status
from publishing.receipts.receipts import NoReceiptError, receipt_of, recount_before_dropping

logger = logging.getLogger(__name__)


class CannotDropError(Exception):
    """The copies of an edition may not go; the sentence says why."""


def days_kept() -> int | None:
    """After how many days copies go by themselves; None: never."""
    if settings.DELIVERIES_KEEP_DAYS is None:
        return None
    return max(int(settings.DELIVERIES_KEEP_DAYS), provider_retention_days())


def drop_refusal(standing: DropStatus, state: str) -> str:
    """Why the copies of an edition may not go, in one sentence; empty if they may."""
    if not standing.is_newsletter:
        return "Mail that people ask for stays with the people who asked for it."
    if not standing.is_over:
        return f"It is not over: it is {state}. Copies go when every one is settled or it ended."
    if standing.is_newest:
        return "It is the newest issue; its copies stay until another one was published."
    if standing.is_asked_for:
        return (
            "A correction is scheduled that goes to those who were sent this one; who they are is "
            "needed when its time comes."
        )
    if standing.is_told_of:
        return (
            "Postmark told something of it that could not be applied yet; ./homing events lists "
            "what waits for a person."
        )
    if not standing.is_old_enough:
        return (
            "Postmark may still be asked about it: its copies may go from "
            f"{since_when(standing.old_enough_at)} on (POSTMARK_RETENTION_DAYS and a week)."
        )
    return ""


def drop_copies(edition: Edition) -> Iterator[int]:
    """
    Drop the copies of an edition now, as an operator has asked from the command line; how many went
    with each piece. Where that was begun before, it goes on. Raises `CannotDropError` before
    anything went.
    """
    days = provider_retention_days()
    standing = load_drop_status(edition.pk, days=days)
    if standing.dropped_at is None:
        why = drop_refusal(standing, load_status(edition.pk).words)
        if why:
            raise CannotDropError(why)
        _say_dropped(
            edition,
            days,
            record=lambda dropped: record_action_from_the_command_line(dropped, "drop_copies"),
        )
    return drop_deliveries.delete_deliveries(edition.pk)


def copies_to_drop(edition: Edition) -> int:
    """How many copies `drop_copies` would drop now. Raises `CannotDropError` if none may go."""
    standing = load_drop_status(edition.pk, days=provider_retention_days())
    why = "" if standing.dropped_at else drop_refusal(standing, load_status(edition.pk).words)
    if why:
        raise CannotDropError(why)
    return drop_deliveries.count_deliveries([edition.pk])


def _say_dropped(
    edition: Edition, days: float, *, record: Callable[[Edition], None] | None = None
) -> None:
    """
    What has to be there before is made, and `record` writes who did it, at once with the mark.
    Another run that was a moment faster has done all of it.
    """
    try:
        recount_before_dropping(edition)
        receipt_of(edition)
    except NoReceiptError as error:
        raise CannotDropError(str(error)) from None
    with together():
        answer = drop_deliveries.mark_dropped(edition.pk, days=days)
        if answer is DropResult.SAID and record is not None:
            record(edition)
    if answer is DropResult.THEY_STAY:
        raise CannotDropError("Something happened to it just now; look at it again.")


def count_old_copies() -> int:
    """How many copies would go by themselves now, those included that were left behind."""
    days = days_kept()
    fresh = [] if days is None else drop_deliveries.load_due(days=days)
    return drop_deliveries.count_deliveries([*fresh, *drop_deliveries.load_unfinished()])


def drop_old_copies() -> Iterator[int]:
    """
    Drop what is older than `DELIVERIES_KEEP_DAYS`, and go on where that was broken off; how many
    with each piece. What has to stay is logged. Where one edition breaks off, the others have their
    turn before its error is raised.
    """
    days = days_kept()
    broken: Exception | None = None
    for edition in [] if days is None else drop_deliveries.load_due(days=days):
        try:
            _say_dropped(Edition.objects.get(pk=edition), days or 0)
        except CannotDropError as error:
            logger.warning("the copies of edition %d stay: %s", edition, str(error))
        except Exception as error:  # noqa: BLE001 -- raised when the others had their turn
            broken = broken or error
        yield 0
    for edition in drop_deliveries.load_unfinished():
        yield from drop_deliveries.delete_deliveries(edition)
    if broken is not None:
        raise broken

"""Drop the deliveries of old editions that have receipts. Counts and content stay."""

import logging
from collections.abc import Iterator

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from delivery.humanise import duration
from delivery.interface import capabilities, together
from delivery.models import Edition
from delivery.retention import drop_deliveries
from delivery.retention.drop_deliveries import load_drop_status
from delivery.retention.expire_details import provider_retention_days
from publishing.activity.record_issue_activity import record_action_from_the_command_line
from publishing.editions.edition_status import load_status, since_when
from publishing.receipts.make_receipt import NoReceiptError, receipt_of, recount_before_dropping

logger = logging.getLogger(__name__)


# The reasons why an edition's deliveries must stay. The keys are values of `DropStatus.obstacle`.
_REFUSALS = {
    "on_request": gettext_lazy(
        "The copies of transactional mail are kept as long as the readers who requested it."
    ),
    "not_over": gettext_lazy(
        "It has not ended: its state is “{state}”. You can delete its copies once all are settled."
    ),
    "newest": gettext_lazy(
        "It is the newest issue. You can delete its copies after you publish another one."
    ),
    "scheduled_correction": gettext_lazy(
        "A scheduled correction goes to the readers of this version, so their copies are still "
        "needed."
    ),
    "unapplied_event": gettext_lazy(
        "An event from {provider} about it could not be applied yet. ./homing events lists the "
        "events that need attention."
    ),
    "too_young": gettext_lazy(
        "{provider} can still be asked about its copies. You can delete them from {from_then} on "
        "({setting} and a week)."
    ),
}


class CannotDropError(Exception):
    """The deliveries of an edition must stay; the message says why."""


def days_kept() -> int | None:
    """Return after how many days deliveries are dropped; None if they never are."""
    if settings.DELIVERIES_KEEP_DAYS is None:
        return None
    return max(int(settings.DELIVERIES_KEEP_DAYS), provider_retention_days())


def drop_deliveries_of(edition: Edition) -> Iterator[int]:
    """Drop an edition's deliveries; yield how many each step deleted.

    Raises `CannotDropError` before it deletes anything.
    """
    if not _is_marked(edition):
        _mark_dropped(edition, provider_retention_days(), by_operator=True)
    return drop_deliveries.delete_deliveries(edition.pk)


def deliveries_to_drop(edition: Edition) -> int:
    """Count the deliveries that would be dropped. Raises `CannotDropError`."""
    _is_marked(edition)
    return drop_deliveries.count_deliveries([edition.pk])


def _is_marked(edition: Edition) -> bool:
    """Return whether dropping has begun.

    Raises `CannotDropError` if the deliveries may not be dropped.
    """
    status = load_drop_status(edition.pk, days=provider_retention_days())
    if status.dropped_at is not None:
        return True
    if status.obstacle:
        can = capabilities()
        raise CannotDropError(
            str(_REFUSALS[status.obstacle]).format(
                state=load_status(edition.pk).words,
                from_then=since_when(status.old_enough_at),
                provider=can.name,
                setting=can.remembers_setting or duration(86_400 * can.remembers_days),
            )
        )
    return False


def _mark_dropped(edition: Edition, days: float, *, by_operator: bool = False) -> None:
    """Make the receipt, then mark the deliveries as dropped."""
    try:
        recount_before_dropping(edition)
        receipt_of(edition)
    except NoReceiptError as error:
        raise CannotDropError(str(error)) from None
    with together():
        before = drop_deliveries.mark_dropped(edition.pk, days=days)
        if before.may_be_dropped and by_operator:
            record_action_from_the_command_line(edition, "drop_copies")
    if before.obstacle and before.dropped_at is None:
        raise CannotDropError(_("Its state changed in the meantime. Try again."))


def count_old_deliveries() -> int:
    """Return how many deliveries would be dropped automatically now."""
    days = days_kept()
    due = [] if days is None else drop_deliveries.load_due(days=days)
    return drop_deliveries.count_deliveries([*due, *drop_deliveries.load_unfinished()])


def drop_all_old_deliveries() -> Iterator[int]:
    """Drop the deliveries of editions older than `DELIVERIES_KEEP_DAYS`.

    Yield how many deliveries each step deleted.
    """
    days = days_kept()
    first_error: Exception | None = None
    for edition in [] if days is None else drop_deliveries.load_due(days=days):
        try:
            with override("en"):  # log lines are in English
                _mark_dropped(Edition.objects.get(pk=edition), days or 0)
        except CannotDropError as error:
            logger.warning("the copies of edition %d stay: %s", edition, str(error))
        except Exception as error:  # noqa: BLE001 -- raised after the other editions
            first_error = first_error or error
        yield 0
    for edition in drop_deliveries.load_unfinished():
        yield from drop_deliveries.delete_deliveries(edition)
    if first_error is not None:
        raise first_error

"""Define the retention rules, and delete old data once a day or by `prune`."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import counted
from delivery.interface import capabilities, provider_name
from delivery.models import Edition
from delivery.monitoring import worker_heartbeat
from delivery.retention import expire_details
from delivery.retention.batched_delete import OldRows
from delivery.retention.expire_details import details_retention_days
from delivery.rules.reason import Reason, ReasonCode
from delivery.tasks import periodic_task_lease
from delivery.tasks.periodic_task_lease import TaskInterruptedError, TaskPostponedError
from delivery.tasks.register_background_task import BackgroundTask
from idempotency.expire_saved_responses import count_expired, expire_saved_responses
from newsletter_site.logs.describe_exception import summarise
from publishing.external_checks import cached_results
from publishing.images import unused_images
from publishing.receipts import drop_old_deliveries
from subscribers.importing import expire_uploads
from subscribers.signup import expire_unconfirmed

logger = logging.getLogger(__name__)

# After each piece, the run pauses for the time that the deletion took, but at most this long. With
# a longer pause, the worker could not stop quickly.
MAX_PAUSE_S = 0.5

# The daily task.
TASK = "prune"
DAILY_S = 86_400.0
FIRST_AFTER_S = 3_600.0
RETRY_AFTER_S = 3_600.0
LEASE_S = 120.0  # much longer than deleting one piece and the pause after it
POLL_S = 60.0

# The label of the rows that each rule deletes.
WHAT = {
    "answers": gettext_lazy("saved responses to posted forms"),
    "pending": gettext_lazy("pending sign-ups with their data"),
    "files": gettext_lazy("uploaded files that were not imported"),
    "rejected_rows": gettext_lazy("rejected and skipped rows of imports"),
    "calls": gettext_lazy("calls to {provider}"),
    "events": gettext_lazy("applied events of {provider}’s webhooks"),
    "test_letters": gettext_lazy("test letters and invitations with their addresses"),
    "pictures": gettext_lazy("unused images"),
    "looks": gettext_lazy("saved checks of domains and links"),
    "sessions": gettext_lazy("expired sessions"),
    "tokens": gettext_lazy("expired and revoked API tokens"),
    "invitations": gettext_lazy("expired invitations"),
    "sign_ins": gettext_lazy("counts of failed sign-ins"),
    "workers": gettext_lazy("crashed workers"),
    "copies": gettext_lazy("copies of finished issues"),
}


@dataclass(frozen=True, slots=True)
class Deletion:
    """Two functions that delete and count old rows, with the interface of `OldRows`.

    `delete` yields the number of rows in each piece.
    """

    count: Callable[[], int]
    delete: Callable[[], Iterator[int]]


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """The rows to delete after a retention time. `kept` shows the time in words."""

    name: str
    kept: str
    rows: OldRows | Deletion

    @property
    def what(self) -> str:
        """Return the label of the rows that the rule deletes."""
        return str(WHAT[self.name]).format(provider=provider_name())


@dataclass(frozen=True, slots=True)
class Pruned:
    """The number of rows that a rule deleted.

    `error` says why some rows were not deleted.
    """

    rule: RetentionRule
    number: int
    is_complete: bool = True
    error: str = ""


def retention_rules() -> list[RetentionRule]:
    """Return all rules for the current settings."""
    days, details = settings.DETAILS_KEEP_DAYS, _kept_by("DETAILS_KEEP_DAYS")
    provider_days, provider_details = details_retention_days(), details
    if provider_days > days:
        # Keep the provider's details as long as it still has information about the message.
        provider_details = _kept(provider_days, capabilities().remembers_setting)
    deliveries_kept = _("until dropped by hand (DELIVERIES_KEEP_DAYS)")
    if (deliveries_days := drop_old_deliveries.days_kept()) is not None:
        deliveries_kept = _kept(deliveries_days, "DELIVERIES_KEEP_DAYS")
    answers = Deletion(count_expired, _repeat(expire_saved_responses))
    test_letters = Deletion(
        partial(expire_details.count_test_letters, provider_days),
        partial(expire_details.delete_test_letters, provider_days),
    )
    pictures = Deletion(
        partial(unused_images.count_unused, days), partial(unused_images.delete_unused, days)
    )
    pending = Deletion(expire_unconfirmed.count_expired, _repeat(expire_unconfirmed.expire_pending))
    files = Deletion(expire_uploads.count_expired, _repeat(expire_uploads.expire_file))
    rejected_rows = expire_uploads.old_rejected_rows(days)
    sessions = OldRows("django_session", ["expire_date", "session_key"], "expire_date", 0)
    tokens = OldRows("api_token", ["id"], "least(expires_at, revoked_at)", days, in_order=False)
    invitations = OldRows("invitation", ["id"], "expires_at", days, in_order=False)
    sign_ins = OldRows("axes_accessattempt", ["id"], "attempt_time", days, in_order=False)
    workers = OldRows("worker", ["id"], "heard_at", 1, in_order=False)
    deliveries = Deletion(
        drop_old_deliveries.count_old_deliveries, drop_old_deliveries.drop_all_old_deliveries
    )
    return [
        RetentionRule("answers", _kept_by("IDEMPOTENCY_TTL_DAYS"), answers),
        RetentionRule("pending", _kept_by("PENDING_EXPIRES_DAYS"), pending),
        RetentionRule("files", _kept_by("IMPORT_EXPIRES_DAYS"), files),
        RetentionRule("rejected_rows", details, rejected_rows),
        RetentionRule("calls", provider_details, expire_details.old_attempts(provider_days)),
        RetentionRule("events", provider_details, expire_details.applied_events(provider_days)),
        RetentionRule("test_letters", provider_details, test_letters),
        RetentionRule("pictures", details, pictures),
        RetentionRule("looks", _("1 day"), cached_results.expired_results()),
        RetentionRule("sessions", _("until they end"), sessions),
        RetentionRule("tokens", details, tokens),
        RetentionRule("invitations", details, invitations),
        RetentionRule("sign_ins", details, sign_ins),
        RetentionRule("workers", worker_heartbeat.EXPIRES_AFTER, workers),
        RetentionRule("copies", deliveries_kept, deliveries),
    ]


def prune(
    *,
    may_continue: Callable[[], bool] = lambda: True,
    on_progress: Callable[[RetentionRule, int], None] = lambda *_: None,
    pause: Callable[[float], object] = time.sleep,
) -> list[Pruned]:
    """Delete all data that is old enough. Do not call this in a transaction.

    After each piece, `on_progress` gets the rule and its number of rows so far, and `pause` gets
    the seconds to wait. The run ends when `may_continue` returns False. If a rule fails or waits
    too long, the other rules still run.
    """
    if transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("Each piece needs its own transaction.")
    return [
        _apply(rule, may_continue, on_progress, pause)
        if may_continue()
        else Pruned(rule, 0, is_complete=False)
        for rule in retention_rules()
    ]


def drop_deliveries_of(edition: Edition, on_progress: Callable[[int], None]) -> int:
    """Drop the copies of one edition now, and return their number.

    Raise `CannotDropError` or `OperationalError`.
    """
    total = 0
    for total in _with_pauses(drop_old_deliveries.drop_deliveries_of(edition), time.sleep):
        on_progress(total)
    return total


def count_prunable() -> list[Pruned]:
    """Count what `prune` would delete now. Change nothing, and take no locks."""
    return [Pruned(rule, rule.rows.count()) for rule in retention_rules()]


def _apply(
    rule: RetentionRule,
    may_continue: Callable[[], bool],
    on_progress: Callable[[RetentionRule, int], None],
    pause: Callable[[float], object],
) -> Pruned:
    total = 0
    totals = _with_pauses(rule.rows.delete(), pause)
    while True:
        try:
            total = next(totals)
        except StopIteration:
            return Pruned(rule, total)
        except Exception as error:  # noqa: BLE001 -- the other rules still run
            return Pruned(rule, total, is_complete=False, error=_log_error(rule, error))
        on_progress(rule, total)
        if not may_continue():
            return Pruned(rule, total, is_complete=False)


def _with_pauses(pieces: Iterator[int], pause: Callable[[float], object]) -> Iterator[int]:
    total, began_at = 0, time.monotonic()
    for number in pieces:
        total += number
        took_s = time.monotonic() - began_at
        yield total
        pause(min(MAX_PAUSE_S, took_s))
        began_at = time.monotonic()


def _log_error(rule: RetentionRule, error: Exception) -> str:
    """Log why a rule stopped, and return the reason as shown to operators.

    The error's own text is not returned, because it may contain data of a row.
    """
    if isinstance(error, OperationalError):
        name = type(error.__cause__ or error).__name__
        logger.warning("deleting %s waited too long (%s); the next run continues", rule.name, name)
        return _("it waited too long for the database ({name})").format(name=name)
    logger.error("deleting %s failed; the next run continues", rule.name, exc_info=error)
    return _("an error ({name}), see the log").format(name=summarise(error))


def _repeat(delete_some: Callable[[], int]) -> Callable[[], Iterator[int]]:
    return lambda: iter(lambda: int(delete_some()), 0)


def _kept_by(setting: str) -> str:
    return _kept(getattr(settings, setting), setting)


def _kept(days: int, setting: str) -> str:
    return counted("{n} day ({setting})", "{n} days ({setting})", days, setting=setting)


def prune_if_due(is_stopping: Callable[[], bool]) -> bool:
    """Run the daily task `prune` if it is due and no other worker is running it.

    The task extends its lease after each piece. Return whether this worker ran the task.
    """
    periodic_task_lease.ensure_exists(TASK, due_in_s=FIRST_AFTER_S)
    lease = periodic_task_lease.acquire(TASK, lease_s=LEASE_S)
    if lease is None:
        return False
    with periodic_task_lease.running(
        lease, again_in_s=DAILY_S, retry_base_s=RETRY_AFTER_S, retry_cap_s=RETRY_AFTER_S
    ):
        done = prune(
            may_continue=lambda: (
                not is_stopping() and periodic_task_lease.extend_lease(lease, lease_s=LEASE_S)
            )
        )
        deleted = {pruned.rule.name: pruned.number for pruned in done if pruned.number}
        if deleted:
            logger.info("old rows were deleted: %s", deleted)
        if failed := [pruned.rule.name for pruned in done if pruned.error]:
            raise TaskPostponedError(Reason.of(ReasonCode.OLD_DATA_KEPT, rules=failed))
        if not all(pruned.is_complete for pruned in done):
            raise TaskInterruptedError
    return True


def _work(is_stopping: Callable[[], bool]) -> bool:
    prune_if_due(is_stopping)
    connection.close()  # This thread needs no database connection until the next poll.
    return False


# This task has no function that counts due work, so `deliver --until-empty` does not wait for it.
DAILY_PRUNE = BackgroundTask("old rows", _work, every_s=POLL_S)

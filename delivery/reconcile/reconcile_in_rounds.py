"""Reconcile in rounds, and wait between rounds if a later walk may find more."""

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.utils.translation import gettext as _

from delivery import log_context
from delivery.humanise import counted, digits
from delivery.mail.mark_test_letter import TEST_ISSUE
from delivery.mail.transactional_mail_texts import KIND_BY_ISSUE
from delivery.provider.from_settings import (
    capabilities,
    policy_from_settings,
    provider_from_settings,
    provider_name,
)
from delivery.reconcile import record_findings
from delivery.reconcile.reconcile_round import Obstacle, ReconcileRound, RoundReport
from delivery.reconcile.record_findings import EditionRecord
from delivery.reconcile.walk_provider_record import PatientSearch
from delivery.rules.after_call_or_lookup import delay_after

# The number of times that a walk is repeated if the search lags or is incomplete, with backoff.
MAX_ROUNDS_WITHOUT_PROGRESS = 6
REPORT_EVERY_S = 5.0

Group = tuple[uuid.UUID, str]


@dataclass(frozen=True, slots=True)
class ReconcileResult:
    """The findings of a run, and the obstacles to reconciling editions.

    `unknown` has, for each unknown version: an edition of its issue, the version, and its number of
    messages. `again_at` is when a later run can judge more messages.
    """

    editions: int
    reports: Sequence[RoundReport]
    obstacles: Sequence[tuple[EditionRecord, Obstacle, datetime]]
    unknown: Sequence[tuple[EditionRecord, int, int]]
    again_at: datetime | None


def reconcile(
    issue: uuid.UUID | None,
    *,
    waits: bool,
    start_sent: Callable[[int], bool],
    report_progress: Callable[[str], None],
) -> ReconcileResult:
    """Reconcile an issue's editions, or every edition that may differ.

    With `waits`, wait and repeat the walk as long as a later walk may remove an obstacle.
    `start_sent` publishes and pauses a scheduled edition that the provider already has copies of.
    Raises `SearchUnavailableError`; earlier findings stay recorded.
    """
    retention_days = capabilities().remembers_days
    editions = record_findings.load_editions(issue, retention_days=retention_days)
    to_walk = editions
    reports: dict[Group, RoundReport] = {}
    in_the_way: dict[int, tuple[EditionRecord, Obstacle, datetime]] = {}
    deferrals = 0
    comparing = counted(
        "Comparing {n} edition with {provider}'s record.",
        "Comparing {n} editions with {provider}'s record.",
        len(editions),
        provider=provider_name(),
    )
    report_progress(comparing)
    while True:
        # Keep only lasting obstacles. If another obstacle still exists, the walk finds it again.
        in_the_way = {
            edition: found
            for edition, found in in_the_way.items()
            if not found[1].is_worth_waiting_for
        }
        for group, members in groupby(sorted(to_walk, key=_group), key=_group):
            walked = list(members)
            with closing(provider_from_settings()) as provider, log_context.scope():
                log_context.bind(issue=walked[0].issue)
                report = ReconcileRound(
                    walked,
                    PatientSearch(provider, walked[0].stream),
                    start_sent=start_sent,
                    report_progress=report_progress,
                ).run()
            if earlier := reports.get(group):
                report.recorded += earlier.recorded
                report.reconciled += earlier.reconciled
            reports[group] = report
            for one in walked:
                in_the_way.pop(one.edition, None)
            in_the_way |= report.obstacles
        worth_it = [found for found in in_the_way.values() if found[1].is_worth_waiting_for]
        now = record_findings.database_time()
        pause_s = [(at - now).total_seconds() for _, _, at in worth_it if at > now]
        if not pause_s:
            deferrals += 1
        if not worth_it or not waits or deferrals > MAX_ROUNDS_WITHOUT_PROGRESS:
            unknown = [
                (report.first, version, count)
                for report in reports.values()
                for version, count in sorted(report.unknown.items())
                # Leave out mail that readers or authors can request again themselves.
                if report.first.issue not in {*KIND_BY_ISSUE, TEST_ISSUE}
            ]
            later = [report.again_at for report in reports.values()]
            later += [max(at, now) for _, _, at in worth_it]
            return ReconcileResult(
                len(editions),
                list(reports.values()),
                list(in_the_way.values()),
                unknown,
                again_at=max(filter(None, later), default=None),
            )
        first, obstacle, at = worth_it[0]
        report_progress(obstacle.sentence(first.issue, at))
        policy = policy_from_settings()
        _wait(max(pause_s) if pause_s else delay_after(deferrals - 1, 1.0, policy), report_progress)
        walkable = record_findings.load_editions(issue, retention_days=retention_days)
        # A report covers all editions of an issue, so all these editions are walked again.
        again = {_group(one) for one in walkable if one.unreconciled_since is not None}
        to_walk = [one for one in walkable if _group(one) in again]


def _group(walked: EditionRecord) -> Group:
    return walked.issue, walked.stream


def _wait(seconds: float, report_progress: Callable[[str], None]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        report_progress(_("Waiting another {seconds} s.").format(seconds=digits(round(left))))
        time.sleep(min(left, REPORT_EVERY_S))

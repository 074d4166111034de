"""`manage.py reconcile`: record what Postmark has, and report what it does not have."""

import json
import sys
import uuid
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from delivery.interface import (
    ReconcileResult,
    SearchUnavailableError,
    database_identity,
    reason_sentence,
    reconcile,
)
from delivery.models import Edition
from delivery.progress_line import ProgressLine
from delivery.rules.edition_state import EditionState
from publishing.editions.status import dropped_sentence, load_status
from publishing.management.edition_command import parse_issue

NEEDS_DECISION = 3
CLOCK = "%Y-%m-%d %H:%M:%S"
_RUNNING = frozenset({EditionState.HELD, EditionState.SENDING, EditionState.SCHEDULED})

_DIFFERENCES = {
    "twice": "readers have more than one copy; the alarms stand on their edition's page",
    "missing": "copies are recorded as sent, and Postmark does not show them; not resent",
    "too_fresh": "copies are too fresh to judge: recorded as sent, and not shown yet",
    "not_looked_up": "more copies are not shown and were not asked about; run it again",
    "without_delivery": "messages at Postmark name readers who have no copy on record",
    "quarantined": "copies bear a mark of having been sent; workers ask about them",
}


class Command(BaseCommand):
    help = (
        "Compare our record with Postmark's: of one issue, or of all that are open, not "
        "reconciled, or were sent within Postmark's memory. What Postmark has is recorded; what it "
        "does not show is said, and never sent again. The last line is JSON. Exits 3 if something "
        "waits for a person or has to be judged by a later run; the lines before say what and when."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("issue", nargs="?", help="the issue's id (default: all)")
        parser.add_argument(
            "--restored",
            action="store_true",
            help="this database was restored in a way that workers cannot notice: first stop every "
            "open edition until it is reconciled",
        )
        parser.add_argument(
            "--no-wait",
            action="store_true",
            help="do not wait until Postmark's silence counts: say when to come back, and exit 3",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Most of stderr is progress, and not an error.
        self.stderr.style_func = str
        progress = ProgressLine(self.stderr)
        issue = parse_issue(options["issue"])
        self._report_dropped(issue)
        if options["restored"]:
            database_identity.declare_restored()
        else:
            database_identity.check_identity()
        unreconciled = _unreconciled(issue)
        try:
            outcome = reconcile(issue, waits=not options["no_wait"], report_progress=progress.show)
        except (SearchUnavailableError, KeyboardInterrupt) as end:
            # The next run no longer knows what was reconciled until now.
            self._report_running(unreconciled)
            if isinstance(end, KeyboardInterrupt):
                raise
            raise CommandError(
                f"Postmark's search gave no answer {end.tries} times. Last: "
                f"{reason_sentence(end.reason)} What was found until then is recorded."
            ) from None
        progress.clear()
        self._report_differences(outcome)
        self._report_running(unreconciled)
        if outcome.again_at is not None:
            command = " ".join(filter(None, ("./homing reconcile", options["issue"])))
            self.stderr.write(f"Run {command} again after {outcome.again_at:{CLOCK}} UTC.")
        totals = {
            name: sum(getattr(report, name) for report in outcome.reports)
            for name in ("recorded", "reconciled", "found", "missing", "twice", "too_fresh")
        }
        result = {
            "editions": outcome.editions,
            **totals,
            "of_unknown_versions": sum(count for _, _, count in outcome.unknown),
            "again_at": outcome.again_at and outcome.again_at.isoformat(),
        }
        self.stdout.write(json.dumps(result))
        self.stdout.flush()
        differs = totals["missing"] or totals["twice"]
        if differs or outcome.obstacles or outcome.unknown or outcome.again_at:
            sys.exit(NEEDS_DECISION)

    def _report_dropped(self, issue: uuid.UUID | None) -> None:
        if issue is None:
            return
        dropped = Edition.objects.filter(issue_id=issue, deliveries_dropped_at__isnull=False)
        for edition in dropped.order_by("version"):
            sentence = dropped_sentence(edition.deliveries_dropped_at)
            self.stderr.write(f"Version {edition.version} is left out. {sentence}")

    def _report_differences(self, outcome: ReconcileResult) -> None:
        for name, sentence in _DIFFERENCES.items():
            count = sum(getattr(report, name) for report in outcome.reports)
            if count:
                self.stderr.write(f"{count:,} {sentence}.")
        for walked, version, count in outcome.unknown:
            self.stderr.write(
                f"Postmark has {count:,} message{'s' * (count > 1)} of version {version} of "
                f"“{walked.title}” (issue {walked.issue}), which this database does not know: it "
                "was published after the backup. To publish it again would send to the same "
                "readers again. Publish it with a long hold (--hold), and run "
                f"./homing reconcile {walked.issue} before the hold is over: who has a copy is "
                "recorded then and gets no second one."
            )
        for walked, obstacle, at in outcome.obstacles:
            self.stderr.write(
                f"Not reconciled yet: “{walked.title}”, version {walked.version}. "
                f"{obstacle.sentence(walked.issue, at)}"
            )

    def _report_running(self, were_unreconciled: Sequence[int]) -> None:
        """Name what runs again: an operator may have stopped it after the backup was taken."""
        reconciled = Edition.objects.filter(
            pk__in=were_unreconciled, unreconciled_since__isnull=True
        ).order_by("pk")
        running = [
            status
            for status in map(load_status, reconciled.values_list("pk", flat=True))
            if status.state in _RUNNING and not status.counts.is_transactional
        ]
        for status in running:
            counts = status.counts
            self.stderr.write(
                f"Goes on: “{counts.title}”, version {counts.version} of issue {counts.issue}: "
                f"{status.words}. {status.reason()}".rstrip()
            )
        if running:
            self.stderr.write(
                "Was one of them paused, called back or cancelled after the backup was taken? The "
                "database does not know it: do it again, before workers start."
            )


def _unreconciled(issue: uuid.UUID | None) -> list[int]:
    editions = Edition.objects.filter(unreconciled_since__isnull=False)
    if issue is not None:
        editions = editions.filter(issue_id=issue)
    return list(editions.values_list("pk", flat=True))

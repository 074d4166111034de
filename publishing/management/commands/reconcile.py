"""`manage.py reconcile`: compare Homing's record of copies with the provider's."""

import json
import sys
import uuid
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from delivery.humanise import counted, digits
from delivery.interface import (
    ReconcileResult,
    SearchUnavailableError,
    capabilities,
    database_identity,
    provider_name,
    reason_sentence,
    reconcile,
)
from delivery.models import Edition
from delivery.progress_line import ProgressLine
from delivery.rules.edition_state import EditionState
from publishing.editions.edition_status import dropped_sentence, load_status
from publishing.editions.start_scheduled import start_sent_before_restore
from publishing.management.command_bases import parse_issue

NEEDS_DECISION = 3
CLOCK = "%Y-%m-%d %H:%M:%S"
_RUNNING = frozenset({EditionState.HELD, EditionState.SENDING, EditionState.SCHEDULED})

_DIFFERENCES = {
    "twice": gettext_lazy(
        "Readers with more than one copy: {n}. See the alarms on the edition's page."
    ),
    "missing": gettext_lazy(
        "Copies recorded as sent that {provider} does not show: {n}. They were not resent."
    ),
    "too_fresh": gettext_lazy(
        "Copies recorded as sent that {provider} does not show yet: {n}. They are too recent to "
        "judge."
    ),
    "not_looked_up": gettext_lazy(
        "More copies that {provider} does not show: {n}. They were not looked up; run this again."
    ),
    "without_delivery": gettext_lazy(
        "Messages at {provider} for readers who have no copy on record: {n}."
    ),
    "quarantined": gettext_lazy("Copies that may have been sent: {n}. Workers look them up."),
}


class Command(BaseCommand):
    help = _(
        "Compare our record with the provider's. Without an issue, compare every issue that is "
        "still being sent, was not reconciled yet, or that the provider can still show. Records "
        "what the provider has. Reports copies that it does not show, and never resends them. The "
        "last line is JSON. Exits 3 if a decision or a later run is needed; the lines before say "
        "which."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("issue", nargs="?", help=_("id of the issue (default: all)"))
        parser.add_argument(
            "--restored",
            action="store_true",
            help=_(
                "treat this database as restored, if workers cannot detect it: stop every open "
                "edition until it is reconciled"
            ),
        )
        parser.add_argument(
            "--no-wait",
            action="store_true",
            help=_(
                "do not wait until copies are old enough to judge: say when to run this again, and "
                "exit 3"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Do not print stderr in the colour of errors, because most of its lines show progress.
        self.stderr.style_func = str
        progress = ProgressLine(self.stderr)
        issue = parse_issue(options["issue"])
        if issue is not None:
            self._report_dropped(issue)
        if options["restored"]:
            database_identity.declare_restored()
        else:
            database_identity.check_identity()
        if not capabilities().has_record:
            sentence = _(
                "{provider} has no record that Homing could compare with its own. An issue that a "
                "restore stopped stays stopped: cancel it. Publish it again only if a second copy "
                "is acceptable for readers who may have the first."
            )
            raise CommandError(sentence.format(provider=provider_name()))
        unreconciled = _unreconciled(issue)
        try:
            outcome = reconcile(
                issue,
                waits=not options["no_wait"],
                start_sent=start_sent_before_restore,
                report_progress=progress.show,
            )
        except (SearchUnavailableError, KeyboardInterrupt) as end:
            # Report the running issues now: the next run does not know which issues this run
            # reconciled.
            self._report_running(unreconciled)
            if isinstance(end, KeyboardInterrupt):
                raise
            text = ngettext(
                "{provider}'s search failed {n} time. Last error: {reason} Everything found before "
                "is recorded.",
                "{provider}'s search failed {n} times. Last error: {reason} Everything found "
                "before is recorded.",
                end.tries,
            )
            reason = reason_sentence(end.reason)
            raise CommandError(
                text.format(n=digits(end.tries), reason=reason, provider=provider_name())
            ) from None
        progress.clear()
        self._report_differences(outcome)
        self._report_running(unreconciled)
        if outcome.again_at is not None:
            command = " ".join(filter(None, ("./homing reconcile", options["issue"])))
            text = _("Run {command} again after {time} UTC.")
            self.stderr.write(text.format(command=command, time=f"{outcome.again_at:{CLOCK}}"))
        totals = {
            name: sum(getattr(report, name) for report in outcome.reports)
            for name in ("recorded", "reconciled", "found", "missing", "twice", "too_fresh")
        }
        result = {
            "editions": outcome.editions,
            **totals,
            "of_unknown_versions": sum(count for *_names, count in outcome.unknown),
            "again_at": outcome.again_at and outcome.again_at.isoformat(),
        }
        self.stdout.write(json.dumps(result))
        self.stdout.flush()
        differs = totals["missing"] or totals["twice"]
        if differs or outcome.obstacles or outcome.unknown or outcome.again_at:
            sys.exit(NEEDS_DECISION)

    def _report_dropped(self, issue: uuid.UUID) -> None:
        dropped = Edition.objects.filter(issue_id=issue, deliveries_dropped_at__isnull=False)
        for edition in dropped.order_by("version"):
            sentence = dropped_sentence(edition.deliveries_dropped_at)
            skipped = _("Version {version} is skipped.").format(version=edition.version)
            self.stderr.write(f"{skipped} {sentence}")

    def _report_differences(self, outcome: ReconcileResult) -> None:
        for name, sentence in _DIFFERENCES.items():
            count = sum(getattr(report, name) for report in outcome.reports)
            if count:
                self.stderr.write(str(sentence).format(n=digits(count), provider=provider_name()))
        for walked, version, count in outcome.unknown:
            text = counted(
                "{provider} has {n} message of version {version} of “{title}” (issue {issue}). It "
                "was published after the backup, so this database does not have it. If you publish "
                "it again, readers get it twice. To prevent that, publish it with a long hold "
                "(--hold) and run ./homing reconcile {issue} before the hold ends. Readers who "
                "have a copy get no second one.",
                "{provider} has {n} messages of version {version} of “{title}” (issue {issue}). It "
                "was published after the backup, so this database does not have it. If you publish "
                "it again, readers get it twice. To prevent that, publish it with a long hold "
                "(--hold) and run ./homing reconcile {issue} before the hold ends. Readers who "
                "have a copy get no second one.",
                count,
                version=version,
                title=walked.title,
                issue=walked.issue,
                provider=provider_name(),
            )
            self.stderr.write(text)
        for walked, obstacle, at in outcome.obstacles:
            text = _("Not reconciled yet: “{title}”, version {version}.")
            text = text.format(title=walked.title, version=walked.version)
            self.stderr.write(f"{text} {obstacle.sentence(walked.issue, at)}")

    def _report_running(self, were_unreconciled: Sequence[int]) -> None:
        """Report the reconciled issues whose sending continues now.

        Operators may have stopped some of these issues after the backup, and the restored database
        does not know it.
        """
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
            text = _("Continues: “{title}”, version {version} of issue {issue}: {state}.").format(
                title=counts.title,
                version=counts.version,
                issue=counts.issue,
                state=status.words,
            )
            # Do not print the reason why an issue waits. The reason “no worker is running” would
            # make operators start workers too early.
            self.stderr.write(text)
        if running:
            self.stderr.write(
                _(
                    "Was one of them paused, called back or cancelled after the backup was made? "
                    "The database does not know that. Repeat that action before workers start."
                )
            )


def _unreconciled(issue: uuid.UUID | None) -> list[int]:
    editions = Edition.objects.filter(unreconciled_since__isnull=False)
    if issue is not None:
        editions = editions.filter(issue_id=issue)
    return list(editions.values_list("pk", flat=True))

"""`manage.py alarms`: list unseen alarms, or mark an issue's alarms as seen."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from delivery.humanise import counted
from delivery.interface import reason_sentence
from delivery.monitoring.alarms import load_unseen, mark_seen
from publishing.activity.record_issue_activity import record_action_from_the_command_line
from publishing.management.command_bases import parse_issue


class Command(BaseCommand):
    help = _(
        "List the alarms that nobody has acknowledged. With --looked-at ISSUE, acknowledge those "
        "of that issue: they stay on its page, but the desk and the alert no longer show them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--looked-at", metavar="ISSUE", help=_("id of an issue"))

    def handle(self, *args: Any, **options: Any) -> None:
        alarms = load_unseen()
        if options["looked_at"]:
            issue = parse_issue(options["looked_at"])
            its = [alarm for alarm in alarms if alarm.edition.issue_id == issue]
            # If the last alarm of an edition is marked as seen, its earlier alarms are marked too.
            for last in {alarm.edition_id: alarm for alarm in its}.values():
                mark_seen(last.edition_id, last.pk, None)
                record_action_from_the_command_line(last.edition, "acknowledge_alarms")
            self.stdout.write(
                counted(
                    "{n} alarm of this issue was acknowledged.",
                    "{n} alarms of this issue were acknowledged.",
                    len(its),
                )
            )
            return
        for alarm in alarms:
            self.stdout.write(
                _("{time} UTC  {kind}  issue {issue} version {version}: {reason}").format(
                    time=f"{alarm.raised_at:%Y-%m-%d %H:%M}",
                    kind=alarm.kind,
                    issue=alarm.edition.issue_id,
                    version=alarm.edition.version,
                    reason=reason_sentence(alarm.reason),
                )
            )
        if not alarms:
            self.stdout.write(_("There are no open alarms."))

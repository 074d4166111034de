"""`manage.py audit`: compare the stored counts of editions with their rows."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils.translation import gettext as _

from delivery.humanise import counted, digits
from delivery.models import Edition
from delivery.reports.audit import find_violations
from publishing.management.command_bases import parse_issue


class Command(BaseCommand):
    help = _("Compare the counts of one issue, or of all, with their rows.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("issue", nargs="?", help=_("id of the issue (default: all)"))

    def handle(self, *args: Any, **options: Any) -> None:
        issue = parse_issue(options["issue"])
        editions = Edition.objects.order_by("pk")
        if issue:
            editions = editions.filter(issue_id=issue)
        checked = list(editions.values_list("pk", flat=True))
        violations = find_violations(checked)
        for _edition, sentence in violations:
            self.stdout.write(sentence)
        if violations:
            self.stdout.write(
                counted(
                    "Found {n} violation. Editions checked: {editions}.",
                    "Found {n} violations. Editions checked: {editions}.",
                    len(violations),
                    editions=digits(len(checked)),
                )
            )
            sys.exit(1)
        self.stdout.write(
            counted(
                "The counts of {n} edition balance.",
                "The counts of {n} editions balance.",
                len(checked),
            )
        )

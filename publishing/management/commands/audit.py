"""`manage.py audit`: check the counts of editions against their rows."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from delivery.humanise import counted
from delivery.models import Edition
from delivery.reports.audit import find_violations
from publishing.management.edition_command import parse_issue


class Command(BaseCommand):
    help = "Check the counts of one issue, or of all, against the rows they stand for."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("issue", nargs="?", help="the issue's id (default: all)")

    def handle(self, *args: Any, **options: Any) -> None:
        issue = parse_issue(options["issue"])
        editions = Edition.objects.order_by("pk")
        if issue:
            editions = editions.filter(issue_id=issue)
        checked = list(editions.values_list("pk", flat=True))
        violations = find_violations(checked)
        for _, sentence in violations:
            self.stdout.write(sentence)
        if violations:
            self.stdout.write(
                f"{counted(len(violations), 'violation')} in the counts of "
                f"{counted(len(checked), 'edition')}."
            )
            sys.exit(1)
        self.stdout.write(f"The counts of {counted(len(checked), 'edition')} balance.")

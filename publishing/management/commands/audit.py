"""`manage.py audit`: checks the books."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from delivery.humanise import counted
from delivery.models import Edition
from delivery.reports.audit import find_violations
from delivery.reports.audit_sentences import violation_sentence
from publishing.editions.parse_edition_name import parse_issue_id


class Command(BaseCommand):
    """Prints each violation; exit 1 if there is any."""

    help = "Check the books of one issue, or of all, against the rows they stand for."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("issue", nargs="?", help="the issue's id (default: all)")

    def handle(self, *args: Any, **options: Any) -> None:
        editions = Edition.objects.order_by("pk")
        if options["issue"] is not None:
            try:
                editions = editions.filter(issue_id=parse_issue_id(options["issue"]))
            except ValueError as error:
                raise CommandError(str(error)) from None
            if not editions:
                raise CommandError(f"There is no issue {options['issue']}.")
        checked = list(editions.values_list("pk", flat=True))
        violations = find_violations(checked)
        for violation in violations:
            self.stdout.write(violation_sentence(violation))
        if violations:
            self.stdout.write(
                f"{counted(len(violations), 'violation')} in the books of "
                f"{counted(len(checked), 'edition')}."
            )
            sys.exit(1)
        self.stdout.write(f"The books of {counted(len(checked), 'edition')} balance.")

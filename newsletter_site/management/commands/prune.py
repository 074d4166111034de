"""`manage.py prune`: delete what is older than it is kept."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from delivery.progress_line import ProgressLine
from newsletter_site.retention import Pruned, RetentionRule, count_prunable, drop_copies, prune
from publishing.editions.edition_name import parse_issue_id, parse_version
from publishing.editions.status import NoSuchEditionError, load_edition
from publishing.receipts.drop_old_deliveries import CannotDropError, copies_to_drop

INTERRUPTED = 130  # what a shell says of a program that was ended by Ctrl-C


class Command(BaseCommand):
    help = (
        "Delete what is older than it is kept (docs/retention.md), a piece at a time. Safe at any "
        "time, beside workers and twice at once. The last line is JSON."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Replace Django's --version: here it names the version of an edition.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--copies-of",
            metavar="ISSUE",
            help="only drop the copies of this issue, if it is finished and old enough",
        )
        parser.add_argument(
            "--version", metavar="N", help="with --copies-of: the version (default: the newest)"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would go, and change nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stderr.style_func = str  # Django prints stderr as errors; this is progress.
        self._progress = ProgressLine(self.stderr)
        try:
            self._run(options)
        except KeyboardInterrupt:
            self._progress.clear()
            self.stderr.write("Interrupted. Run it again for the rest.")
            sys.exit(INTERRUPTED)

    def _run(self, options: dict[str, Any]) -> None:
        if options["copies_of"] is not None:
            self._drop_copies(options)
            return
        if options["version"] is not None:
            raise CommandError("--version names a version of the issue that --copies-of names.")
        if options["dry_run"]:
            self._report(count_prunable(), "would go")
            return
        done = prune(on_progress=self._show_progress)
        self._progress.clear()
        self._report(done, "went")
        if any(pruned.error for pruned in done):
            sys.exit(1)

    def _drop_copies(self, options: dict[str, Any]) -> None:
        try:
            edition = load_edition(
                parse_issue_id(options["copies_of"]), parse_version(options["version"])
            )
            copies = copies_to_drop(edition)
            if not options["dry_run"]:
                copies = drop_copies(
                    edition, lambda number: self._progress.show(f"{number:,} copies")
                )
        except (NoSuchEditionError, ValueError, CannotDropError) as error:
            raise CommandError(str(error)) from None
        except OperationalError:
            raise CommandError("The database kept it waiting. Run it again for the rest.") from None
        self._progress.clear()
        went = "would go" if options["dry_run"] else "went"
        self.stdout.write(
            f"{copies:>10,} {went}: copies of “{edition.title}”, version {edition.version}"
        )
        self.stdout.write(json.dumps({"copies": copies}))

    def _report(self, done: list[Pruned], went: str) -> None:
        for pruned in done:
            rule = pruned.rule
            self.stdout.write(f"{pruned.number:>10,} {went}: {rule.what}; kept {rule.kept}")
            if pruned.error:
                self.stderr.write(f"Some {rule.what} stay for now: {pruned.error}.")
        self.stdout.write(json.dumps({pruned.rule.name: pruned.number for pruned in done}))

    def _show_progress(self, rule: RetentionRule, number: int) -> None:
        if number:
            self._progress.show(f"{number:,} {rule.what}")

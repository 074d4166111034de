"""`manage.py prune`: lets go of what is older than it is kept."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from newsletter_site.retention import Gone, Kind, drop_copies, prune, would_go
from publishing.editions.parse_edition_name import parse_issue_id, parse_version
from publishing.editions.status import NoSuchEditionError, load_edition
from publishing.receipts.drop_old_deliveries import CannotDropError, copies_to_drop

INTERRUPTED = 130  # what a shell says of a program that was ended by Ctrl-C
LINE_EVERY_S = 5.0


class Command(BaseCommand):
    """Prints a line for each kind, and the counts as JSON in the last one."""

    help = (
        "Let go of what is older than it is kept (docs/retention.md), a piece at a time. Safe at "
        "any time, also beside workers and twice at once. The last line is JSON."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's own --version tells Django's version; here it names an edition's.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The options that scripts rely on."""
        parser.add_argument(
            "--copies-of",
            metavar="ISSUE",
            help="drop who got this issue, and nothing else, once it is over and old enough",
        )
        parser.add_argument(
            "--version", metavar="N", help="with --copies-of: the version (default: the newest)"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would go, and change nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit 1 if something had to be left to another time."""
        # Django shows all of stderr as errors; this is progress.
        self.stderr.style_func = str
        self._said_at = time.monotonic()
        if options["copies_of"] is not None:
            self._drop_copies(options)
            return
        if options["version"] is not None:
            raise CommandError("--version names a version of the issue that --copies-of names.")
        if options["dry_run"]:
            self._report(would_go(), "would go")
            return
        try:
            done = prune(tell=self._tell)
        except KeyboardInterrupt:
            self._broken_off()
        self._clear()
        self._report(done, "went")
        if any(each.trouble for each in done):
            sys.exit(1)

    def _drop_copies(self, options: dict[str, Any]) -> None:
        try:
            edition = load_edition(
                parse_issue_id(options["copies_of"]), parse_version(options["version"])
            )
            copies = copies_to_drop(edition)
            if not options["dry_run"]:
                copies = drop_copies(edition, tell=lambda gone: self._line(f"{gone:,} copies"))
        except (NoSuchEditionError, ValueError, CannotDropError) as error:
            raise CommandError(str(error)) from None
        except OperationalError:
            raise CommandError(
                "The database kept it waiting. What has gone is gone; run it again for the rest."
            ) from None
        except KeyboardInterrupt:
            self._broken_off()
        self._clear()
        went = "would go" if options["dry_run"] else "went"
        self.stdout.write(
            f"{copies:>10,} {went}: copies of “{edition.title}”, version {edition.version}"
        )
        self.stdout.write(json.dumps({"copies": copies}))

    def _report(self, done: list[Gone], went: str) -> None:
        for each in done:
            self.stdout.write(f"{each.number:>10,} {went}: {each.kind.what}; kept {each.kind.kept}")
            if each.trouble:
                self.stderr.write(f"Some {each.kind.what} stay for now: {each.trouble}.")
        self.stdout.write(json.dumps({each.kind.name: each.number for each in done}))

    def _tell(self, kind: Kind, gone: int) -> None:
        if gone:
            self._line(f"{gone:,} {kind.what}")

    def _line(self, line: str) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r\x1b[K{line}", ending="")
            self.stderr.flush()
        elif time.monotonic() - self._said_at >= LINE_EVERY_S:
            self._said_at = time.monotonic()
            self.stderr.write(line)

    def _broken_off(self) -> NoReturn:
        self._clear()
        self.stderr.write("Broken off. What has gone is gone; the rest goes another time.")
        sys.exit(INTERRUPTED)

    def _clear(self) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r\x1b[K", ending="")

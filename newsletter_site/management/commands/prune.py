"""`manage.py prune`: lets go of what is older than it is kept."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from newsletter_site.retention import Gone, Kind, prune, would_go

INTERRUPTED = 130  # what a shell says of a program that was ended by Ctrl-C
LINE_EVERY_S = 5.0


class Command(BaseCommand):
    """Prints a line for each kind, and the counts as JSON in the last one."""

    help = (
        "Let go of what is older than it is kept (docs/retention.md), a piece at a time. Safe at "
        "any time, also beside workers and twice at once. The last line is JSON."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The options that scripts rely on."""
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would go, and change nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit 1 if something had to be left to another time."""
        # Django shows all of stderr as errors; this is progress.
        self.stderr.style_func = str
        self._said_at = time.monotonic()
        if options["dry_run"]:
            self._report(would_go(), "would go")
            return
        try:
            done = prune(tell=self._tell)
        except KeyboardInterrupt:
            self._clear()
            self.stderr.write("Broken off. What has gone is gone; the rest goes another time.")
            sys.exit(INTERRUPTED)
        self._clear()
        self._report(done, "went")
        if any(each.trouble for each in done):
            sys.exit(1)

    def _report(self, done: list[Gone], went: str) -> None:
        for each in done:
            self.stdout.write(f"{each.number:>10,} {went}: {each.kind.what}; kept {each.kind.kept}")
            if each.trouble:
                self.stderr.write(f"Some {each.kind.what} stay for now: {each.trouble}.")
        self.stdout.write(json.dumps({each.kind.name: each.number for each in done}))

    def _tell(self, kind: Kind, gone: int) -> None:
        line = f"{gone:,} {kind.what}"
        if self.stderr.isatty():
            self.stderr.write(f"\r\x1b[K{line}", ending="")
            self.stderr.flush()
        elif time.monotonic() - self._said_at >= LINE_EVERY_S:
            self._said_at = time.monotonic()
            self.stderr.write(line)

    def _clear(self) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r\x1b[K", ending="")

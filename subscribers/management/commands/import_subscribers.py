"""`manage.py import_subscribers FILE.csv`: readers from a CSV file onto the list."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError

from subscribers.importing import LeftOut, Progress, UnreadableFileError, import_file
from subscribers.importing.file_format.columns import read_mapping
from subscribers.importing.import_file import called
from subscribers.importing.rejects_file import RejectsFile
from subscribers.importing.report_text import left_out_lines, report_lines
from subscribers.models.subscriber_import import LONGEST_STATEMENT

GOES_ON = (
    "If the import had begun, a worker goes on with it where it was, and so does the same command "
    "again."
)
NOTHING_CHANGED = "Nothing has changed."
INTERRUPTED = 130  # what a shell says of a program that was ended by Ctrl-C
SHOWN = 10  # rows of each kind; --rejects writes all
ROWS_BETWEEN_PLAIN_LINES = 100_000


class Command(BaseCommand):
    """Reads options, calls `import_file`, prints its report. The last line is JSON."""

    help = "Import readers from a CSV file with the columns email and name."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The options that scripts rely on."""
        parser.add_argument("file", metavar="FILE.csv", type=Path)
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would happen and change nothing"
        )
        parser.add_argument(
            "--confirmed",
            action="store_true",
            help="state that these readers gave their consent elsewhere; it goes on record",
        )
        parser.add_argument(
            "--consent",
            metavar="TEXT",
            default="",
            help="with --confirmed: where and how they gave it, for the record",
        )
        parser.add_argument(
            "--map",
            metavar="COLUMN=FIELD",
            action="append",
            default=[],
            help="read a column as email, name or status, or ignore it with COLUMN=-; repeatable",
        )
        parser.add_argument(
            "--rejects",
            metavar="FILE",
            type=Path,
            help="write the rejected rows to this CSV file: line, email, reason",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import one file, or exit 1 with one sentence and nothing changed."""
        path: Path = options["file"]
        rejects: Path | None = options["rejects"]
        self.rejected: list[LeftOut] = []
        self.skipped: list[LeftOut] = []
        self.rejects_file: RejectsFile | None = None
        self.rows_at_last_line = 0
        consent = " ".join(options["consent"].split())
        if consent and not options["confirmed"]:
            raise CommandError("--consent says where consent was given; --confirmed states that.")
        if len(consent) > LONGEST_STATEMENT:
            raise CommandError(
                f"--consent has {len(consent)} characters; at most {LONGEST_STATEMENT} are kept."
            )
        if rejects and _is_the_same(rejects, path):
            raise CommandError("--rejects names the file that is imported; name another one.")
        afterwards = NOTHING_CHANGED if options["dry_run"] else GOES_ON
        try:
            with ExitStack() as stack:
                if rejects:
                    self.rejects_file = stack.enter_context(RejectsFile(rejects))
                report = import_file(
                    path,
                    confirmed=options["confirmed"],
                    where=consent,
                    mapping=read_mapping(options["map"]),
                    dry_run=options["dry_run"],
                    on_left_out=self._take_left_out,
                    on_progress=self._show_progress,
                )
        except UnreadableFileError as refusal:
            raise CommandError(str(refusal)) from refusal
        except (OperationalError, InterfaceError) as error:
            raise CommandError(f"The connection to the database was lost. {afterwards}") from error
        except KeyboardInterrupt:
            self.stderr.write(f"Broken off. {afterwards}")
            sys.exit(INTERRUPTED)
        except OSError as error:
            raise CommandError(f"{rejects} cannot be written: {error.strerror}.") from error
        finally:
            if self.stderr.isatty():
                self.stderr.write("\r\033[K", str, ending="")
        for line in report_lines(
            report, called(path), dry_run=options["dry_run"], confirmed=options["confirmed"]
        ):
            self.stdout.write(line)
        for rows, count, result in (
            (self.skipped, report.counts.skipped, "skipped"),
            (self.rejected, report.counts.rejected, "rejected"),
        ):
            for line in left_out_lines(rows, count, result):
                self.stdout.write(line)
        self.stdout.write(json.dumps(report.as_json()))

    def _take_left_out(self, row: LeftOut) -> None:
        if row.is_rejected and self.rejects_file:
            self.rejects_file.write(row)
        shown = self.rejected if row.is_rejected else self.skipped
        if len(shown) < SHOWN:
            shown.append(row)

    def _show_progress(self, progress: Progress) -> None:
        done = f"{progress.rows:,} rows, {progress.percent} % of the file"
        if self.stderr.isatty():
            self.stderr.write(f"\r{done}", str, ending="")  # str: not in the red of errors
            self.stderr.flush()
        elif progress.rows - self.rows_at_last_line >= ROWS_BETWEEN_PLAIN_LINES:
            self.rows_at_last_line = progress.rows
            self.stderr.write(done)


def _is_the_same(rejects: Path, path: Path) -> bool:
    try:
        return rejects.samefile(path)
    except OSError:
        # One of them is not there, or cannot be: whoever opens it says why.
        return False

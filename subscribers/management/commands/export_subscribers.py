"""`manage.py export_subscribers FILE`: write the list of readers to a CSV file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from delivery.humanise import counted_readers
from subscribers.desk.reader_list import ReaderFilter, iter_readers
from subscribers.desk.readers_csv import csv_lines
from subscribers.files.atomic_file import atomic_file
from subscribers.models import Subscriber


class Command(BaseCommand):
    """A file of this name is never half a list."""

    help = "Write the list of readers to a CSV file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument(
            "--state", choices=Subscriber.State.values, default="", help="only these readers"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        written = -1  # The header is no reader.
        try:
            with atomic_file(path) as file:
                for line in csv_lines(iter_readers(ReaderFilter(options["state"]))):
                    file.write(line)
                    written += 1
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        self.stdout.write(f"{counted_readers(written)} in {path}.")

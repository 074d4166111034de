"""`manage.py export_subscribers FILE`: write the list of readers to a CSV file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from delivery.humanise import counted
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.desk.reader_list import iter_readers
from subscribers.desk.readers_csv import csv_lines
from subscribers.files.atomic_file import atomic_file
from subscribers.models import Subscriber


class Command(BaseCommand):
    """Write a CSV file that appears only when it is complete."""

    help = _("Write the list of readers to a CSV file.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument(
            "--state",
            choices=Subscriber.State.values,
            default="",
            help=_("only readers in this state"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        written = -1  # The header is not a reader.
        try:
            with atomic_file(path) as file:
                for line in csv_lines(iter_readers(ReaderFilter(options["state"]))):
                    file.write(line)
                    written += 1
        except OSError as error:
            sentence = _("Homing cannot write {path}: {error}.")
            raise CommandError(sentence.format(path=path, error=error.strerror)) from error
        sentence = counted("{n} reader in {path}.", "{n} readers in {path}.", written, path=path)
        self.stdout.write(sentence)

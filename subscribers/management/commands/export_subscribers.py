"""`manage.py export_subscribers FILE`: the list of readers as a CSV file."""

from __future__ import annotations

import os
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from subscribers.desk.reader_list import Looked, everybody
from subscribers.desk.readers_csv import lines_of
from subscribers.files.atomic_file import file_to_write
from subscribers.models import Subscriber


class Command(BaseCommand):
    """Writes aside and renames, so that a file of this name is never half a list."""

    help = "Write the list of readers to a CSV file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The options that scripts rely on."""
        parser.add_argument("file", metavar="FILE", type=Path)
        parser.add_argument(
            "--state", choices=Subscriber.State.values, default="", help="only these readers"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Export, or exit 1 with one sentence and the file as it was."""
        path: Path = options["file"]
        try:
            place = file_to_write(path)
            descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".readers-")
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        unfinished = Path(name)
        written = -1  # The header is no reader.
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                for line in lines_of(everybody(Looked(options["state"]))):
                    file.write(line)
                    written += 1
            unfinished.replace(place)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        finally:
            unfinished.unlink(missing_ok=True)
        self.stdout.write(f"{written:,} {'reader' if written == 1 else 'readers'} in {path}.")

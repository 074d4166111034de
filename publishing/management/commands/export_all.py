"""`manage.py export_all FILE`: write all data into one ZIP file."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.progress_line import ProgressLine
from publishing.exporting.export_files import export_files, write_zip
from subscribers.files.atomic_file import atomic_binary_file


class Command(BaseCommand):
    """Write a ZIP file that appears only when it is complete."""

    help = _("Write readers, consent, issues, deliveries and images to a ZIP file.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.zip", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        progress, files = ProgressLine(self.stderr), set[str]()

        def show(file: str) -> None:
            files.add(file)
            progress.show(_("File {n}: {file}").format(n=digits(len(files)), file=file))

        try:
            with atomic_binary_file(path) as output:
                write_zip(output, export_files(), show)
        except OSError as error:
            sentence = _("Homing cannot write {path}: {error}.")
            raise CommandError(sentence.format(path=path, error=error.strerror)) from error
        finally:
            progress.clear()
        self.stdout.write(
            json.dumps({"file": str(path), "files": len(files), "bytes": path.stat().st_size})
        )

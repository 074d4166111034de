"""`manage.py backup FILE`: back the database up, even while mail is being sent."""

import os
import signal
import sys
from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.progress_line import ProgressLine
from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.settings_file import settings_file
from newsletter_site.backup.take_backup import take_backup


class Command(BaseCommand):
    help = _(
        "Back the database up into one file. Workers and pages continue meanwhile. Restore it with "
        "./homing restore (docs/restore.md)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help=_("the file to write"))
        parser.add_argument(
            "--settings-file",
            type=Path,
            metavar="FILE",
            help=_(
                "also write this shell's settings, with SECRET_KEY, to this file. Keep the two "
                "files on two machines: anyone with both files can read the list and sign in"
            ),
        )
        parser.add_argument("--force", action="store_true", help=_("overwrite existing files"))

    def handle(self, *args: Any, **options: Any) -> None:
        self.stderr.style_func = str
        # Remove the unfinished file on these signals too. If nohup started this process, SIGHUP
        # stays ignored.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            signal.signal(signal.SIGHUP, signal.default_int_handler)
        progress = ProgressLine(self.stderr)
        replaces = options["force"]
        file = options["settings_file"]
        if file is not None and os.path.realpath(file) == os.path.realpath(options["file"]):
            raise CommandError(
                _("{path} is named for the backup and for the settings. Name two files.").format(
                    path=file
                )
            )
        try:
            with settings_file(file, replaces=replaces) if file is not None else nullcontext():
                manifest = take_backup(
                    options["file"],
                    connection,
                    keys=[settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS],
                    replaces=replaces,
                    report=lambda size: progress.show(
                        _("{n} MB written").format(n=digits(size // 1_000_000))
                    ),
                )
        except BackupRefusedError as error:
            raise CommandError(str(error)) from None
        finally:
            progress.clear()
        text = _("Backed up database {name} to {file}: {n} MB.")
        size = digits(-(-options["file"].stat().st_size // 1_000_000))
        self.stdout.write(text.format(name=manifest.database, file=options["file"], n=size))
        if not manifest.server.startswith(f"{manifest.least_server}."):
            text = _("Made with a newer pg_dump: restore it only into PostgreSQL {n} or newer.")
            self.stdout.write(text.format(n=manifest.least_server))
        if options["settings_file"] is None:
            self.stdout.write(
                _(
                    "The settings are not in it. Keep a copy of /etc/homing/homing.env or .env on "
                    "another machine: without its SECRET_KEY the links in all old mail are dead."
                )
            )
        sys.stdout.flush()

"""`manage.py restore FILE`: restore a file of `backup`, and declare the restore."""

import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.progress_line import ProgressLine
from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.restore_backup import restore_backup


class Command(BaseCommand):
    help = _(
        "Restore a file of ./homing backup into the empty database of DATABASE_URL. No worker "
        "sends from it before ./homing reconcile has asked the provider what was sent since "
        "(docs/restore.md)."
    )
    # Skip the system checks: in an empty database they would fail because of missing tables.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help=_("the file to restore"))
        parser.add_argument(
            "--replace",
            action="store_true",
            help=_(
                "replace the contents of the database. Stop workers and the site first: systemctl "
                "stop 'homing*'"
            ),
        )
        parser.add_argument(
            "--other-key",
            action="store_true",
            help=_("restore although SECRET_KEY is lost: the links in all old mail stay dead"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stderr.style_func = str
        # Treat this signal like Ctrl-C, so that the programs that this process started end too.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        progress = ProgressLine(self.stderr)
        try:
            manifest = restore_backup(
                options["file"],
                connection,
                keys=[settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS],
                other_key=options["other_key"],
                replaces=options["replace"],
                report=lambda size: progress.show(
                    _("{n} MB read").format(n=digits(size // 1_000_000))
                ),
            )
        except BackupRefusedError as error:
            raise CommandError(str(error)) from None
        finally:
            progress.clear()
        text = _(
            "Restored the backup of {time} into database {name}. Next, type ./homing migrate, "
            "./homing reconcile and ./homing audit. Then repeat the changes that the backup undid, "
            "as docs/restore.md says, and start the site and the workers."
        )
        name = connection.settings_dict["NAME"]
        self.stdout.write(text.format(time=manifest.made_at, name=name))
        sys.stdout.flush()

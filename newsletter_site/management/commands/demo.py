"""`manage.py demo`: publish and deliver a sample issue on this machine."""

import os
import sys
from argparse import ArgumentParser
from io import TextIOWrapper
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.utils import OperationalError

from newsletter_site.demo.run import run
from newsletter_site.demo.terminal import StoppedError, Terminal


class Command(BaseCommand):
    help = (
        "Show the main job: start a database, a sandbox, a site and workers, import sample "
        "readers, publish an issue by posting the form twice, deliver it, count the copies. Then "
        "the site stays up until Ctrl-C. Nothing leaves this machine."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--exit",
            action="store_true",
            help="end after the summary: exit 0, or 1 if a promise was not kept",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError(
                "DEBUG is off, so this is a site for real readers, and the demo is not for it: "
                "unset DATABASE_URL, SECRET_KEY and POSTMARK_SERVER_TOKEN, or set DEBUG=on."
            )
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # A terminal may have no curly quotes.
        terminal = Terminal(self.stdout)
        terminal.listen()
        try:
            kept = run(terminal, stay=not options["exit"])
        except StoppedError:
            sys.exit(128 + terminal.signals[0])
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except OperationalError as error:
            raise CommandError(" ".join(str(error).split())) from error
        if not kept:
            sys.exit(1)

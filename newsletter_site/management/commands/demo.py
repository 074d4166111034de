"""`manage.py demo`: publish and deliver a sample issue on this machine."""

import os
import sys
from argparse import ArgumentParser
from io import TextIOWrapper
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.utils import OperationalError
from django.utils.translation import gettext as _

from newsletter_site.demo.run_demo import run
from newsletter_site.demo.terminal import DemoError, StoppedError, Terminal


class Command(BaseCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.description = _(
            "Show Homing at work. The demo starts a database, a sandbox, a site and workers. It "
            "imports sample readers, publishes an issue by posting the form twice, delivers it and "
            "counts the copies. Then the site stays up until Ctrl-C. Nothing leaves this machine."
        )
        parser.add_argument(
            "--exit",
            action="store_true",
            help=_("end after the summary, with exit code 0, or 1 if a check failed"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError(
                _(
                    "DEBUG is off, so this site has real readers. The demo does not run here. "
                    "Unset DATABASE_URL, SECRET_KEY and POSTMARK_SERVER_TOKEN, or set DEBUG=on."
                )
            )
        if settings.MAIL_PROVIDER != "postmark":
            raise CommandError(
                _(
                    "MAIL_PROVIDER is “{found}”, and the demo sends only to its sandbox. Unset "
                    "MAIL_PROVIDER. docs/providers.md says how to try another provider."
                ).format(found=settings.MAIL_PROVIDER)
            )
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # Some terminals cannot show curly quotes.
        terminal = Terminal(self.stdout)
        terminal.listen()
        try:
            kept = run(terminal, stay=not options["exit"])
        except StoppedError:
            sys.exit(128 + terminal.signals[0])
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except DemoError as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            raise CommandError(" ".join(str(error).split())) from error
        if not kept:
            sys.exit(1)

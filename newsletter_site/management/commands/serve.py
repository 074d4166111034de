"""`manage.py serve`: the web server."""

import logging
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from delivery.interface import ProcessGroup
from newsletter_site.operations.metrics.flush_metrics import flush_at_exit
from newsletter_site.serving.listen import DEFAULT, describe, is_loopback, listen
from newsletter_site.serving.site_server import Server

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    """Serve the site until SIGTERM or Ctrl-C."""

    help = (
        "Serve the site, behind a proxy with TLS. On SIGTERM or Ctrl-C it accepts no more "
        "connections, answers running requests within 30 seconds and ends. A second signal ends it "
        "at once."
    )
    # Skip the system checks: a site with wrong settings should still answer, and its log names the
    # errors.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--bind",
            default="",
            metavar="HOST:PORT",
            help=(
                "the address to listen on, or fd://NUMBER for an open socket (default: the socket "
                "of systemd, else every address of PORT, else 127.0.0.1:8000)"
            ),
        )
        parser.add_argument(
            "--processes",
            type=int,
            choices=range(1, 65),
            metavar="N",
            default=settings.WEB_CONCURRENCY,
            help=("how many processes serve (default: WEB_CONCURRENCY, now %(default)s)"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG and not settings.DATABASE_IS_NAMED:
            raise CommandError("DATABASE_URL is not set; a site for readers needs one.")
        try:
            listener = listen(options["bind"], settings.PORT)
        except (OSError, ValueError) as error:
            where = options["bind"] or settings.PORT or DEFAULT
            raise CommandError(f"The site cannot listen on {where}: {error}.") from error
        if settings.DEBUG and not settings.DEBUG_IS_NAMED and not is_loopback(listener):
            raise CommandError(
                f"DEBUG is not set, and others may reach {describe(listener)}. Set DEBUG=off and "
                "the variables of docs/deploy.md, or DEBUG=on to show errors to everybody there."
            )
        # This import loads the whole site before the fork, so that the processes share its memory.
        from newsletter_site.check_site_settings import log_start
        from newsletter_site.wsgi import application

        log_start()
        logger.info("The site listens on %s.", describe(listener))

        def make(_: int) -> Server:
            return Server(application, listener)

        def work(server: Server) -> bool:
            server.run()
            flush_at_exit()
            return False

        if not ProcessGroup("web", options["processes"], make, work).run():
            sys.exit(1)

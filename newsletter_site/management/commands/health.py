"""`manage.py health`: the health checks from a shell, for containers and systemd."""

import json
import socket
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from newsletter_site.operations.health.health_checks import CHECKS, run_check

PAUSE_S = 0.5


class Command(BaseCommand):
    # Skip the system checks, because they query the database without a time limit.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.description = _(
            "Run a health check: `live` (program and settings), `ready` (database and migrations) "
            "or `workers` (a heartbeat in the last 60 seconds). The last line is JSON. Exit code "
            "0: healthy, 1: not healthy."
        )
        parser.add_argument("check", choices=CHECKS)
        parser.add_argument(
            "--here",
            action="store_true",
            help=_("count only workers of this host, for the check of one container or unit"),
        )

        parser.add_argument(
            "--wait",
            type=float,
            nargs="?",
            default=0.0,
            const=60.0,
            metavar="SECONDS",
            help=_("wait until it is healthy, at most this long (default: %(const)g), for scripts"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        check = options["check"]
        if options["here"] and check != "workers":
            raise CommandError(
                _(
                    "--here works only with `health workers`. You used it with `health {check}`."
                ).format(check=check)
            )
        # Workers use the same host name (delivery/worker/worker_process.py).
        host = socket.gethostname()[:255] if options["here"] else ""
        ends_at = time.monotonic() + options["wait"]
        result = run_check(check, host)
        while not result.is_healthy and (left_s := ends_at - time.monotonic()) > 0:
            time.sleep(min(PAUSE_S, left_s))
            result = run_check(check, host)
        if result.reason:
            self.stderr.write(result.reason)
        self.stdout.write(json.dumps(result.as_json() | {"details": result.details}))
        self.stdout.flush()
        if not result.is_healthy:
            sys.exit(1)

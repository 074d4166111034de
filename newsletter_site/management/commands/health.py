"""`manage.py health`: the checks of /health/ from a shell, for containers and units."""

import json
import socket
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from newsletter_site.operations.health.checks import CHECKS, run_check


class Command(BaseCommand):
    help = (
        "Say whether this Homing is well: `live` (the program and its settings), `ready` (the "
        "database and its migrations), `workers` (one was heard from in the last 60 seconds). "
        "The last line is JSON; exit 0 if it is well, 1 if not."
    )
    # They would ask the database, and a check must end within its bound.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("check", choices=CHECKS)
        parser.add_argument(
            "--here",
            action="store_true",
            help="count only workers of this host: for the check of one container or unit",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        check = options["check"]
        if options["here"] and check != "workers":
            raise CommandError(f"--here is for `health workers`; found `health {check}`.")
        # As a worker names its host (delivery/worker/process.py).
        result = run_check(check, socket.gethostname()[:255] if options["here"] else "")
        if result.reason:
            self.stderr.write(result.reason)
        self.stdout.write(json.dumps(result.as_json() | {"details": result.details}))
        self.stdout.flush()
        if not result.is_healthy:
            sys.exit(1)

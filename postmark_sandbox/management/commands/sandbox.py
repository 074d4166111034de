"""Command `manage.py sandbox`: the same program as `python -m postmark_sandbox`."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from postmark_sandbox.__main__ import add_options, run


class Command(BaseCommand):
    """Run the sandbox until SIGTERM or Ctrl-C."""

    help = "Run a local server that speaks Postmark's API and keeps every message it accepts."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := run(options):
            sys.exit(code)

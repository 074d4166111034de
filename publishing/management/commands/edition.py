"""`manage.py edition ACTION ID`: what an operator may do to an edition."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from publishing.actions import ACTIONS, CannotDoThatError
from publishing.management.edition_command import EditionCommand
from publishing.status import status_of


class Command(EditionCommand):
    """Does one action and prints the new state."""

    help = "Act on an issue's newest edition, or on a named version, and print its new state."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=sorted(ACTIONS))
        super().add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        edition = self.edition(options)
        try:
            ACTIONS[options["action"]](edition)
        except CannotDoThatError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(json.dumps(status_of(edition.pk).as_json()))

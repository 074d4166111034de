"""`manage.py edition ACTION ID`: act on an edition."""

import json
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from publishing.actions.edition_actions import ACTIONS, CannotDoThatError, perform
from publishing.activity.record_activity import record_action_from_the_command_line
from publishing.editions.status import load_status
from publishing.management.edition_command import EditionCommand


class Command(EditionCommand):
    help = _(
        "Act on an issue's newest edition, or on a named version. Says what was done and prints "
        "the new state as JSON."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=list(ACTIONS))
        super().add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        edition, name = self.edition(options), options["action"]
        # stderr carries the message, because stdout holds only JSON for programs.
        self.stderr.style_func = str
        record = partial(record_action_from_the_command_line, edition)
        try:
            done = perform(name, edition, load_status(edition.pk), record=record)
        except CannotDoThatError as error:
            raise CommandError(str(error)) from None
        self.stderr.write(done)
        self.stdout.write(json.dumps(load_status(edition.pk).as_json()))

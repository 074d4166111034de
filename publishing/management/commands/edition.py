"""`manage.py edition ACTION ID`: act on an edition."""

import json
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from publishing.actions.action_sentences import in_one_line
from publishing.actions.edition_actions import ACTIONS, OLD_NAMES, CannotDoThatError, perform
from publishing.activity.record_issue_activity import record_action_from_the_command_line
from publishing.editions.edition_status import load_status
from publishing.management.command_bases import EditionCommand
from subscribers.management.command_options import as_command_error

_EXPLAINED = {
    "resume": gettext_lazy("send the remaining copies of a paused issue"),
    "call-back": gettext_lazy("stop a held or scheduled issue; it becomes a draft again"),
    "pause": gettext_lazy("send no more copies until you resume"),
    "send-now": gettext_lazy("end the hold, or start a scheduled issue at once"),
    "send-to-missed": gettext_lazy("try again to send to readers who were missed"),
    "ask-again": gettext_lazy("check unconfirmed copies with the provider again; sends no copy"),
    "treat-as-sent": gettext_lazy("count unconfirmed copies as sent; some readers may get none"),
    "resend-unknown": gettext_lazy("resend unconfirmed copies; some readers may get two"),
    "close": gettext_lazy("accept missed and unconfirmed copies as they are; final"),
    "cancel": gettext_lazy("withdraw the copies that were not sent; final"),
}


class Command(EditionCommand):
    help = _(
        "Act on an issue's newest edition, or on a named version. Says what was done and prints "
        "the new state as JSON."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        explained = [f"{name}: {_EXPLAINED[name]}" for name in ACTIONS]
        parser.add_argument(
            "action",
            type=lambda name: OLD_NAMES.get(name, name),
            choices=list(ACTIONS),
            metavar="ACTION",
            help="\n".join(explained),
        )
        super().add_arguments(parser)

    @as_command_error(CannotDoThatError)
    def handle(self, *args: Any, **options: Any) -> None:
        edition, name = self.edition(options), options["action"]
        # stderr carries the message, because stdout holds only JSON for programs.
        self.stderr.style_func = str
        record = partial(record_action_from_the_command_line, edition)
        done = perform(name, edition, load_status(edition.pk), record=record)
        self.stderr.write(in_one_line(done))
        self.stdout.write(json.dumps(load_status(edition.pk).as_json()))

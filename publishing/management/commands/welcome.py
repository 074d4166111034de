"""`manage.py welcome`: turn the welcome letter on or off, or show it."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from publishing.approval.record_approval import NeedsApprovalError
from publishing.editions.welcome_letter import welcome_letter
from publishing.management.content_options import add_content_options, content_of_options
from publishing.publish.switch_welcome_letter import count_sent, turn_off, turn_on
from publishing.test_letters.send_test_letter import TooManyTestsError, send_test
from subscribers.address import read_address
from subscribers.management.command_options import (
    active_author,
    add_author_option,
    as_command_error,
)
from subscribers.refusal_sentences import InputRefusal, sentence_of


class Command(BaseCommand):
    help = gettext_noop(
        "Send a welcome letter to each reader who confirms by a link, or show the one that is on. "
        "The last line of the output is JSON."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--on", action="store_true", help=_("turn this letter on, instead of any other")
        )
        what.add_argument("--off", action="store_true", help=_("turn the letter off"))
        what.add_argument(
            "--test", metavar="ADDRESS", help=_("send one test of this letter; change nothing")
        )
        add_content_options(parser, needs_title=False)
        add_author_option(parser)

    @as_command_error(NeedsApprovalError, TooManyTestsError)
    def handle(self, *args: Any, **options: Any) -> None:
        result: dict[str, Any] = {}
        if options["test"]:
            author, address = active_author(options["author"]), read_address(options["test"])
            if isinstance(address, InputRefusal):
                raise CommandError(sentence_of(address))
            result = {"test_letter": send_test(author, content_of_options(options), address)}
        elif options["on"]:
            turn_on(active_author(options["author"]), content_of_options(options))
        elif options["off"]:
            turn_off(active_author(options["author"]))
        letter = welcome_letter()
        result |= {"on": letter is not None}
        if letter is not None:
            result |= {
                "title": letter.title,
                "since": letter.published_at.isoformat(),
                "sent": count_sent(letter),
            }
        self.stdout.write(json.dumps(result))

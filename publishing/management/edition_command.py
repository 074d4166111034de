"""What the commands about one edition have in common: how it is named."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from delivery.models import Edition
from publishing.editions.parse_edition_name import parse_issue_id, parse_version
from publishing.editions.status import NoSuchEditionError, load_edition


class EditionCommand(BaseCommand):
    """A command about the newest edition of an issue, or about a named version of it."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's own --version tells Django's version; here it names the edition's.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("issue", help="the issue's id")
        parser.add_argument("--version", metavar="N", help="the version (default: the newest)")

    def edition(self, options: dict[str, Any]) -> Edition:
        """The edition that was named. Raises `CommandError` with one sentence."""
        try:
            return load_edition(parse_issue_id(options["issue"]), parse_version(options["version"]))
        except (NoSuchEditionError, ValueError) as error:
            raise CommandError(str(error)) from None

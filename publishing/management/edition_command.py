"""What the commands about editions have in common: how an edition is named."""

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext

from delivery.models import Edition
from publishing.editions.edition_name import parse_issue_id, parse_version
from publishing.editions.status import NoSuchEditionError, load_edition


class VersionedCommand(BaseCommand):
    """A command whose `--version` is that of an edition, and not Django's."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)
        # argparse accepts no lazy text, so `help` is marked with `gettext_noop`.
        parser.description = gettext(self.help)
        return parser


class EditionCommand(VersionedCommand):
    """A command about the newest edition of an issue, or about a named version of it."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("issue", help="the issue's id")
        parser.add_argument("--version", metavar="N", help="the version (default: the newest)")

    def edition(self, options: dict[str, Any]) -> Edition:
        """Return the edition that was named. Raises `CommandError`."""
        try:
            return load_edition(parse_issue_id(options["issue"]), parse_version(options["version"]))
        except (NoSuchEditionError, ValueError) as error:
            raise CommandError(str(error)) from None


def parse_issue(text: str | None) -> uuid.UUID | None:
    """Return the issue that an option names, if any. Raises `CommandError` for an unknown one."""
    if text is None:
        return None
    try:
        issue = parse_issue_id(text)
    except ValueError as error:
        raise CommandError(str(error)) from None
    if not Edition.objects.filter(issue_id=issue).exists():
        raise CommandError(f"There is no issue {text}.")
    return issue

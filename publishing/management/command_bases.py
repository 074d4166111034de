"""Base classes of the commands about editions, and the parsing of issue ids."""

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    DjangoHelpFormatter,
)
from django.utils.translation import gettext as _

from delivery.models import Edition
from publishing.editions.edition_status import NoSuchEditionError, load_edition
from publishing.editions.find_edition import parse_issue_id, parse_version
from subscribers.management.command_options import as_command_error


class _HelpFormatter(DjangoHelpFormatter):
    show_last = DjangoHelpFormatter.show_last - {"--version"}

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Keep the line breaks of a help text, because argparse would remove them."""
        lines: list[str] = []
        for line in text.splitlines():
            lines += super()._split_lines(line, width)
        return lines


class VersionedCommand(BaseCommand):
    """A command whose `--version` is an edition's version, not Django's."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs = {"conflict_handler": "resolve", "formatter_class": _HelpFormatter, **kwargs}
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        # Translate `help` here, because argparse accepts no lazy text.
        parser.description = _(self.help)
        return parser


class EditionCommand(VersionedCommand):
    """A command about an issue's newest edition, or the version in `--version`."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("issue", help=_("id of the issue"))
        parser.add_argument("--version", metavar="N", help=_("version (default: the newest)"))

    @as_command_error(NoSuchEditionError, ValueError)
    def edition(self, options: dict[str, Any]) -> Edition:
        """Return the edition that the options name. Raises `CommandError`."""
        return load_edition(parse_issue_id(options["issue"]), parse_version(options["version"]))


@as_command_error(ValueError)
def parse_issue(text: str | None) -> uuid.UUID | None:
    """Return the id of the issue that an option names; None without the option.

    Raises `CommandError` if there is no such issue.
    """
    if text is None:
        return None
    issue = parse_issue_id(text)
    if not Edition.objects.filter(issue_id=issue).exists():
        raise CommandError(_("There is no issue {issue}.").format(issue=text))
    return issue

"""`manage.py prune`: delete data that is older than its retention time."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError
from django.utils.translation import gettext as _

from delivery.humanise import counted, digits
from delivery.progress_line import ProgressLine
from newsletter_site.data_retention import (
    Pruned,
    RetentionRule,
    count_prunable,
    drop_deliveries_of,
    prune,
)
from publishing.editions.edition_status import NoSuchEditionError, load_edition
from publishing.editions.find_edition import parse_issue_id, parse_version
from publishing.receipts.drop_old_deliveries import CannotDropError, deliveries_to_drop

INTERRUPTED = 130  # shells report this exit code if Ctrl-C ended the program


class Command(BaseCommand):
    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Replace Django's option --version: here, --version is the version of an edition.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.description = _(
            "Delete data that is older than its retention time (docs/retention.md), in small "
            "pieces. It is safe at any time, also while workers or another prune are running. The "
            "last line is JSON."
        )
        parser.add_argument(
            "--copies-of",
            metavar="ISSUE",
            help=_("drop only the copies of this issue, if it is finished and old enough"),
        )
        parser.add_argument(
            "--version",
            metavar="N",
            help=_("with --copies-of: the version (default: the newest)"),
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help=_("print what would be deleted, and change nothing"),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stderr.style_func = str  # Django would colour stderr as an error.
        self._progress = ProgressLine(self.stderr)
        try:
            self._run(options)
        except KeyboardInterrupt:
            self._progress.clear()
            self.stderr.write(_("Interrupted. Run it again to delete the rest."))
            sys.exit(INTERRUPTED)

    def _run(self, options: dict[str, Any]) -> None:
        if options["copies_of"] is not None:
            self._drop_deliveries(options)
            return
        if options["version"] is not None:
            raise CommandError(_("--version works only together with --copies-of."))
        if options["dry_run"]:
            self._report(count_prunable(), is_dry_run=True)
            return
        done = prune(on_progress=self._show_progress)
        self._progress.clear()
        self._report(done, is_dry_run=False)
        if any(pruned.error for pruned in done):
            sys.exit(1)

    def _drop_deliveries(self, options: dict[str, Any]) -> None:
        try:
            edition = load_edition(
                parse_issue_id(options["copies_of"]), parse_version(options["version"])
            )
            deliveries = deliveries_to_drop(edition)
            if not options["dry_run"]:
                deliveries = drop_deliveries_of(edition, self._show_deliveries)
        except (NoSuchEditionError, ValueError, CannotDropError) as error:
            raise CommandError(str(error)) from None
        except OperationalError:
            sentence = _("Waited too long for the database. Run it again to delete the rest.")
            raise CommandError(sentence) from None
        self._progress.clear()
        line = _("{n} deleted: copies of “{title}”, version {version}")
        if options["dry_run"]:
            line = _("{n} would be deleted: copies of “{title}”, version {version}")
        number = f"{digits(deliveries):>10}"
        self.stdout.write(line.format(n=number, title=edition.title, version=edition.version))
        self.stdout.write(json.dumps({"copies": deliveries}))

    def _report(self, done: list[Pruned], *, is_dry_run: bool) -> None:
        line = _("{n} deleted: {what}. Kept: {kept}.")
        if is_dry_run:
            line = _("{n} would be deleted: {what}. Kept: {kept}.")
        for pruned in done:
            rule, number = pruned.rule, f"{digits(pruned.number):>10}"
            self.stdout.write(line.format(n=number, what=rule.what, kept=rule.kept))
            if pruned.error:
                self.stderr.write(
                    _("Not all deleted: {what}. Reason: {error}.").format(
                        what=rule.what, error=pruned.error
                    )
                )
        self.stdout.write(json.dumps({pruned.rule.name: pruned.number for pruned in done}))

    def _show_progress(self, rule: RetentionRule, number: int) -> None:
        if number:
            self._progress.show(_("{n} deleted: {what}").format(n=digits(number), what=rule.what))

    def _show_deliveries(self, number: int) -> None:
        self._progress.show(counted("{n} copy deleted", "{n} copies deleted", number))

"""`manage.py import_issues FILE`: move in the past issues of another service."""

import json
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from shlex import quote
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from delivery.tasks.leased_task_columns import TaskState
from publishing.models import IssueMove
from publishing.past_issues import move_task
from publishing.past_issues.past_issue import UnusableExportError
from publishing.past_issues.read_export import Export
from publishing.past_issues.report_sentences import error_sentence, refusal_sentence, report_lines
from subscribers.importing.file_format.files_in_zip import lists_in
from subscribers.importing.import_sentences import lists_sentence
from subscribers.management.command_options import active_author, add_author_option


class Command(BaseCommand):
    """Move in the issues and print the report. The last line of the output is JSON."""

    help = _("Move in past issues of Substack, Ghost, Buttondown or Homing. None is mailed.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        file_help = _("the ZIP file, or the JSON file of Ghost")
        parser.add_argument("file", metavar="FILE", type=Path, help=file_help)
        parser.add_argument("--site", default="", help=_("the address of your Ghost site"))
        add_author_option(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help=_("report what would happen; change nothing")
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            with path.open("rb") as file:
                if readers := lists_sentence(lists_in(file)):
                    command = f"./homing import_subscribers {quote(str(path))}"
                    import_them = _("Import them with: {command}").format(command=command)
                    self.stdout.write(f"{readers} {import_them}")
                if options["dry_run"]:
                    move = _examine(
                        Export(file, move_task.site_address(options["site"])), path.name
                    )
                else:
                    author = active_author(options["author"])
                    # If an earlier move was killed, finish it first, so that none of its issues is
                    # moved in twice.
                    move_task.run_next_move(lambda: False)
                    with transaction.atomic():
                        move = move_task.request_move(file, path.name, options["site"], author)
                    move_task.run_next_move(lambda: False)
                    move.refresh_from_db()
        except OSError as error:
            sentence = _("Homing cannot read {path}: {error}.")
            raise CommandError(sentence.format(path=path, error=error.strerror)) from error
        except (move_task.MoveRefusedError, UnusableExportError) as error:
            raise CommandError(refusal_sentence(error.code, **error.parameters)) from None
        if move.error:
            raise CommandError(error_sentence(move))
        if move.is_open:
            self.stderr.write(_("A worker moves in the issues. “Move in past issues” shows them."))
        if options["dry_run"]:
            sentence = _("Dry run of {name}: nothing has changed. A move would report:")
            self.stdout.write(sentence.format(name=path.name))
        for _code, sentence, titles in report_lines(move):
            self.stdout.write(sentence)
            for title in titles:
                self.stdout.write(f"  {title}")
        # Do not rename these keys, because scripts read them.
        answer = {"move": move.pk, "state": move.state, "issues": move.total, **move.counts}
        self.stdout.write(json.dumps(answer))


def _examine(export: Export, name: str) -> IssueMove:
    """Return an unsaved move with the results of a dry run. Fetches no image."""
    counts, notes = Counter[str](), []
    for past in export.issues:
        outcome, _content, _player = move_task.prepare(
            export, past, lambda address: (address, 0, 0)
        )
        counts[outcome] += 1
        if outcome not in (move_task.MOVED, move_task.KNOWN):
            notes.append([outcome, past.title or past.slug, ""])
    total = len(export.issues)
    found = {"total": total, "counts": dict(counts), "notes": notes}
    return IssueMove(filename=name, state=TaskState.FINISHED, **found)

"""`manage.py undo_import ID`: undo an import."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext as _

from delivery.humanise import digits
from delivery.progress_line import ProgressLine
from subscribers.importing.import_file import run_to_end
from subscribers.importing.import_page import undo_lines, undo_sentence, why_not_undone
from subscribers.importing.undo_import import start_undo
from subscribers.management.commands.import_subscribers import INTERRUPTED
from subscribers.models import SubscriberImport

State = SubscriberImport.State


class Command(BaseCommand):
    """Undo an import and print the counts. The last line of the output is JSON."""

    help = _(
        "Remove the readers that an import added, unless they were mailed, opted in or changed "
        "since."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", metavar="ID", type=int, help=_("the number of the import"))

        made_help = _("also delete the tags and fields that it made, if nothing else uses them")
        parser.add_argument("--tags-and-fields", action="store_true", help=made_help)

    def handle(self, *args: Any, **options: Any) -> None:
        self.progress = ProgressLine(self.stderr)
        continues = _("A worker or the same command continues an undo that had begun.")
        try:
            record = self._undo(options["id"], made_too=options["tags_and_fields"])
        except (OperationalError, InterfaceError) as error:
            sentence = _("The connection to the database was lost.")
            raise CommandError(f"{sentence} {continues}") from error
        except KeyboardInterrupt:
            self.stderr.write(" ".join((_("Interrupted."), continues)))
            sys.exit(INTERRUPTED)
        finally:
            self.progress.clear()
        self.stdout.write(f"{record.filename}: {undo_sentence(record)}")
        for label, count, note in undo_lines(record):
            self.stdout.write(f"  {label:<16}{digits(count):>10}  {note}".rstrip())
        # Scripts rely on these keys. The numbers after the first two add up to `added`.
        answer = {"import": record.pk, "added": record.added, **record.undo_counts}
        self.stdout.write(json.dumps(answer))

    def _undo(self, import_id: int, *, made_too: bool) -> SubscriberImport:
        start_undo(import_id, made_too=made_too)
        record = SubscriberImport.objects.filter(pk=import_id).first()
        if record is None:
            raise CommandError(_("There is no import {number}.").format(number=import_id))
        if record.state not in (State.UNDOING, State.UNDONE):
            raise CommandError(why_not_undone(record))
        run_to_end(import_id, self._show_progress)
        record.refresh_from_db()
        return record

    def _show_progress(self, record: SubscriberImport) -> None:
        seen = digits(record.undone + record.kept)
        done = _("Readers: {n} of {added}")
        self.progress.show(done.format(n=seen, added=digits(record.added)))

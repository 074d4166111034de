"""`manage.py import_subscribers FILE`: import readers from a CSV or ZIP file."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, TextIO

from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.humanise import counted, digits
from delivery.models import Newsletter
from delivery.progress_line import ProgressLine
from delivery.reader_fields import READER_FIELDS
from subscribers.fields.own_fields import load_fields
from subscribers.files.atomic_file import atomic_file
from subscribers.importing import import_sentences as sentences
from subscribers.importing.accept_upload import Statement, largest_size
from subscribers.importing.file_format.files_in_zip import (
    is_zip,
    may_be_mailed,
    open_lists,
    posts_in,
)
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import ReaderFile, open_regular_file
from subscribers.importing.file_format.recognise_columns import read_mapping, targets
from subscribers.importing.file_format.tag_cell import read_tags
from subscribers.importing.import_file import ImportReport, file_name, import_file
from subscribers.importing.import_sentences import count_lost, posts_sentence
from subscribers.importing.move.fields_and_tags_of_export import add_fields_and_tags
from subscribers.importing.rejects_file import (
    find_reading,
    reject_header,
    reject_line,
    reject_lines,
    rejects_name,
)
from subscribers.management.command_options import require_any
from subscribers.models import RejectedRow, SubscriberImport
from subscribers.models.subscriber_import import LONGEST_STATEMENT
from subscribers.refusal_sentences import InputRefusal, sentence_of

CONTINUES = gettext_lazy("If the import had begun, a worker or the same command continues it.")
NOTHING_CHANGED = gettext_lazy("Nothing has changed.")
INTERRUPTED = 130  # shells return this exit code after Ctrl-C
SHOWN = 10  # rows printed for each result; --rejects writes all rows


class Command(BaseCommand):
    """Import a file and print the report. The last line of the output is JSON."""

    help = _("Import readers from a CSV file, or from the ZIP file of another service.")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            metavar="FILE",
            nargs="+",
            type=Path,
            help=_(
                "a CSV file or the ZIP file of another service; several if they belong together"
            ),
        )
        parser.add_argument(
            "--dry-run", action="store_true", help=_("report what would happen; change nothing")
        )
        confirmed_help = _("state that these readers gave their consent elsewhere; it is recorded")
        parser.add_argument("--confirmed", action="store_true", help=confirmed_help)
        consent_help = _("with --confirmed: where and how they gave it, for the record")
        parser.add_argument("--consent", metavar="TEXT", help=consent_help)
        list_help = _(
            "with --confirmed, for files whose status says nothing about the subscription "
            "(listmonk): state that the exported list held confirmed subscriptions only"
        )
        flag: dict[str, Any] = {"action": "store_true", "default": None}
        parser.add_argument("--list-is-confirmed", **flag, help=list_help)
        parser.add_argument(
            "--map",
            metavar="COLUMN=FIELD",
            action="append",
            default=[],
            help=_(
                "FIELD is {fields}, the key of a field, tag:NAME for a tag where the column says "
                "yes, or - to ignore the column; repeatable"
            ).format(fields=", ".join(targets(READER_FIELDS))),
        )
        tag_help = _("put this tag on all valid rows, known readers included; repeatable")
        parser.add_argument("--tag", metavar="TAG", action="append", default=[], help=tag_help)
        welcome_help = _("with --confirmed: send the welcome letter to added, confirmed readers")
        parser.add_argument("--welcome", **flag, help=welcome_help)
        rejects_help = _(
            "write the rejected rows to this CSV file, to correct and import them; with several "
            "lists, write a file for each into its folder"
        )
        parser.add_argument("--rejects", metavar="FILE", type=Path, help=rejects_help)

    def handle(self, *args: Any, **options: Any) -> None:
        paths: list[Path] = sorted(options["file"], key=lambda path: may_be_mailed(path.name))
        rejects: Path | None = options["rejects"]
        self.rejects_file: TextIO | None = None
        rejects_files: list[TextIO] = []
        consent = " ".join((options["consent"] or "").split())
        require_any(options, ["confirmed"], "consent", "list_is_confirmed", "welcome")
        if len(consent) > LONGEST_STATEMENT:
            sentence = _("--consent has {length} characters. At most {longest} are allowed.")
            raise CommandError(
                sentence.format(length=digits(len(consent)), longest=digits(LONGEST_STATEMENT))
            )
        tags = read_tags(json.dumps(options["tag"]))
        if isinstance(tags, InputRefusal):
            raise CommandError(sentence_of(tags))
        if options["welcome"] and Newsletter.objects.get_current().welcome_issue is None:
            raise CommandError(
                _(
                    "No welcome letter is on. Turn one on with “./homing welcome”, or omit "
                    "--welcome."
                )
            )
        if rejects and any(_is_the_same(rejects, path) for path in paths):
            raise CommandError(_("--rejects names the file to import. Name another file."))
        choices = bool(options["list_is_confirmed"]), tags, bool(options["welcome"])
        stated = Statement(options["confirmed"], consent, *choices)
        what_remains = NOTHING_CHANGED if options["dry_run"] else CONTINUES
        try:
            with ExitStack() as stack:
                files = [stack.enter_context(open_regular_file(path)) for path in paths]
                opened: list[tuple[BinaryIO, str]] = []
                for path, file in zip(paths, files, strict=True):
                    lists = open_lists(file, file_name(path), largest_size())
                    opened += stack.enter_context(lists)
                    if posts := posts_sentence(posts_in(file)):
                        command = f"./homing import_issues {quote(str(path))}"
                        move_them = _("Move them in with: {command}").format(command=command)
                        self.stdout.write(f"{posts} {move_them}")
                for path in _rejects_paths(rejects, [name for _, name in opened]):
                    rejects_files.append(stack.enter_context(atomic_file(path)))
                if len(opened) > 1 or any(map(is_zip, files)) or options["list_is_confirmed"]:
                    for one in opened:
                        _check_before_import(*one, options)
                if not options["dry_run"]:
                    with transaction.atomic():
                        for file in files:
                            add_fields_and_tags(file, None)
                for at, (content, name) in enumerate(opened):
                    self.rejects_file = rejects_files[at] if rejects else None
                    self._import(content, name, options, stated)
        except UnreadableFileError as refusal:
            raise CommandError(str(refusal)) from refusal
        except (OperationalError, InterfaceError) as error:
            sentence = _("The connection to the database was lost.")
            raise CommandError(f"{sentence} {what_remains}") from error
        except KeyboardInterrupt:
            self.stderr.write(" ".join((_("Interrupted."), str(what_remains))))
            sys.exit(INTERRUPTED)
        except OSError as error:
            sentence = _("Homing cannot write {path}: {error}.")
            raise CommandError(sentence.format(path=rejects, error=error.strerror)) from error

    def _import(self, content: BinaryIO, name: str, options: Any, stated: Statement) -> None:
        self.shown: dict[str, list[RejectedRow]] = {"skipped": [], "rejected": []}
        self.progress = ProgressLine(self.stderr)
        try:
            report = import_file(
                content,
                name,
                stated=stated,
                mapping=options["map"],
                dry_run=options["dry_run"],
                on_rejected=self._take_rejected_row,
                on_progress=self._show_progress,
            )
        finally:
            self.progress.clear()
        if self.rejects_file and not self.shown["rejected"]:
            self.rejects_file.writelines(reject_lines(report.record))
        for line in report_lines(report, name, dry_run=options["dry_run"], stated=stated):
            self.stdout.write(line)
        for result, rows in self.shown.items():
            for line in rejected_lines(rows, getattr(report.record, result), result):
                self.stdout.write(line)
        # Scripts rely on these keys. The last five numbers add up to `rows`.
        lost = count_lost(report.record)
        answer = {
            "import": report.record.pk,
            "created": report.created,
            **({"lost_values": lost} if lost else {}),
            **report.record.counts,
        }
        self.stdout.write(json.dumps(answer))

    def _take_rejected_row(self, record: SubscriberImport, row: RejectedRow) -> None:
        if self.rejects_file and row.result == RejectedRow.Result.REJECTED:
            if not self.shown[row.result]:
                self.rejects_file.write(reject_header(record))
            self.rejects_file.write(reject_line(record, row))
        if len(self.shown[row.result]) < SHOWN:
            self.shown[row.result].append(row)

    def _show_progress(self, record: SubscriberImport) -> None:
        done = _("Rows: {n}, {percent} % of the file")
        self.progress.show(done.format(n=digits(record.rows), percent=record.percent))


def _check_before_import(content: BinaryIO, name: str, options: Any) -> None:
    """Before the import, refuse an unreadable list, or a statement without effect."""
    fields = load_fields()
    mapping = read_mapping(options["map"], fields)
    with ReaderFile(content, name, mapping, fields, find_reading) as file:
        if options["list_is_confirmed"] and not file.leaves_subscriptions_open():
            raise UnreadableFileError("list_not_open")


def _rejects_paths(rejects: Path | None, names: Sequence[str]) -> list[Path]:
    """Return one path of rejected rows for each list, because lists differ in columns."""
    if rejects is None or len(names) == 1:
        return [rejects] if rejects else []
    beside = [rejects.with_name(rejects_name(rejects.stem, name)) for name in names]
    return [
        path.with_stem(f"{path.stem} {at}") if path in beside[:at] else path
        for at, path in enumerate(beside)
    ]


def _is_the_same(rejects: Path, path: Path) -> bool:
    with suppress(OSError):  # If a file is missing, the command refuses it later.
        return rejects.samefile(path)
    return False


def report_lines(
    report: ImportReport, filename: str, *, dry_run: bool, stated: Statement
) -> Iterator[str]:
    """Yield the lines that say what was done, how the file was read, and the counts."""
    record = report.record
    names = {"file": filename, "number": record.pk}
    if report.resumed:
        yield _(
            "An earlier run began to import the content of {file} as import {number}. It is "
            "complete now. The counts cover both runs."
        ).format(**names)
    elif record.pk is not None and not report.created:
        yield _(
            "The content of {file} was imported before, as import {number}. Nothing was done now. "
            "The counts are those of that import."
        ).format(**names)
    elif dry_run:
        yield _("Dry run of {file}: nothing has changed.").format(**names)
    else:
        yield _("{file} was imported as import {number}.").format(**names)
    if record.pk is not None and not report.created:
        earlier = (record.confirmed, record.list_is_confirmed)
        options = ("--confirmed", "--list-is-confirmed")
        now = (stated.confirmed, stated.list_is_confirmed)
        for option, was, is_now in zip(options, earlier, now, strict=True):
            if was != is_now:
                yield (
                    _("The earlier import used {option}. This does not change.")
                    if was
                    else _("The earlier import did not use {option}. This does not change.")
                ).format(option=option)
    if read_as := sentences.describe_file(record):
        yield _("Format: {format}").format(format=read_as["format"])
        yield "; ".join(filter(None, (read_as["columns"], read_as["unused"])))
        for note in read_as["notes"]:
            yield _("Note: {sentence}").format(sentence=note)
        if statuses := sentences.statuses_sentence(record.statuses):
            yield _("Statuses: {counts}").format(counts=statuses)
        if tags := sentences.tags_sentence(record.tags_in_file):
            yield _("Tags: {tags}").format(tags=tags)
        yield from sentences.chosen_answers(record)
        yield from sentences.offers(record)
        yield from filter(None, [read_as["hidden"], read_as["stated"]])
        if dry_run and record.unstated and not record.list_is_confirmed:
            yield _unstated_sentence(record)
        for example in read_as["examples"]:
            yield _("For example: {row}").format(row=example)
        yield from filter(None, [read_as["encoding_warning"]])
    yield _line(_("added"), record.added, _added_note(record))
    yield _line(_("known"), record.known, sentences.known_note(record))
    yield _line(_("duplicates"), record.duplicates, _("addresses repeated within the file"))
    yield _line(_("skipped"), record.skipped, _("not imported"))
    for reason, count in sentences.skipped_sentences(record.skipped_because).items():
        yield f"{'':26}{digits(count)}: {reason}"
    yield _line(_("rejected"), record.rejected, _("no valid reader"))
    yield _line(_("rows"), record.rows, _("total"))


def rejected_lines(shown: Sequence[RejectedRow], count: int, result: str) -> Iterator[str]:
    """List the first rejected or skipped rows, and count the others."""
    is_rejected = result == RejectedRow.Result.REJECTED
    for row in shown:
        sentence = (
            _("line {line} rejected: {email}: {reason}")
            if is_rejected
            else _("line {line} skipped: {email}: {reason}")
        )
        yield sentence.format(
            line=row.line,
            email=row.email or _("(no address)"),
            reason=sentences.reason_sentence(row),
        )
    if more := max(count - len(shown), 0):
        yield (
            counted("{n} more row rejected", "{n} more rows rejected", more)
            if is_rejected
            else counted("{n} more row skipped", "{n} more rows skipped", more)
        )


def _added_note(record: SubscriberImport) -> str:
    if not record.confirmed:
        return _("as pending; each gets one confirmation email")
    if not record.pending:
        return _("as confirmed; consent given elsewhere")
    if not record.ready:
        return _("as pending, asked by email; the file marks none of them as subscribed")
    return _(
        "as confirmed, consent given elsewhere: {ready}; as pending, asked by email: {pending}"
    ).format(ready=digits(record.ready), pending=digits(record.pending))


def _unstated_sentence(record: SubscriberImport) -> str:
    return counted(
        "It does not say whether {n} new reader confirmed. If you exported confirmed subscriptions "
        "only, use --confirmed with --list-is-confirmed.",
        "It does not say whether {n} new readers confirmed. If you exported confirmed "
        "subscriptions only, use --confirmed with --list-is-confirmed.",
        record.unstated,
    )


def _line(word: str, count: int, meaning: str) -> str:
    return f"  {word:<12}{digits(count):>10}  {meaning}"

"""The report of an import as the command prints it."""

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from delivery.humanise import digits
from subscribers.importing import import_sentences as sentences
from subscribers.importing.import_file import ImportReport
from subscribers.models import RejectedRow, SubscriberImport


def report_lines(
    report: ImportReport, filename: str, *, dry_run: bool, stated: tuple[bool, bool]
) -> Iterator[str]:
    """Report what was done, how the file was read, and the counts.

    `stated` says whether --confirmed and --list-is-confirmed were used.
    """
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
        for option, was, is_now in zip(options, earlier, stated, strict=True):
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
        sentence = (
            ngettext("{n} more row rejected", "{n} more rows rejected", more)
            if is_rejected
            else ngettext("{n} more row skipped", "{n} more rows skipped", more)
        )
        yield sentence.format(n=digits(more))


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
    sentence = ngettext(
        "It does not say whether {n} new reader confirmed. If you exported confirmed subscriptions "
        "only, use --confirmed with --list-is-confirmed.",
        "It does not say whether {n} new readers confirmed. If you exported confirmed "
        "subscriptions only, use --confirmed with --list-is-confirmed.",
        record.unstated,
    )
    return sentence.format(n=digits(record.unstated))


def _line(word: str, count: int, meaning: str) -> str:
    return f"  {word:<12}{digits(count):>10}  {meaning}"

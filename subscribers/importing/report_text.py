"""The report of an import as the command prints it."""

from collections.abc import Iterator, Sequence

from subscribers.importing import import_sentences as sentences
from subscribers.importing.import_file import ImportReport
from subscribers.models import RejectedRow

WITH_CONSENT = "confirmed, because their consent was stated to have been given elsewhere"


def report_lines(
    report: ImportReport, filename: str, *, dry_run: bool, confirmed: bool
) -> Iterator[str]:
    """What was done, how the file was read, and the counts that add up."""
    record = report.record
    if report.resumed:
        yield (
            f"The content of {filename} was brought before, as import {record.pk}, which "
            "had not finished. It has now; these are the numbers of all of it."
        )
    elif record.pk is not None and not report.created:
        yield (
            f"The content of {filename} was imported before, as import {record.pk}. "
            "Nothing was done now; these are the numbers of that time."
        )
    elif dry_run:
        yield f"A dry run of {filename}: nothing has changed."
    else:
        yield f"{filename} was imported as import {record.pk}."
    if record.pk is not None and not report.created and confirmed != record.confirmed:
        stated = "with" if record.confirmed else "without"
        yield f"That import was made {stated} --confirmed, and that is how it stays."
    if read_as := sentences.describe_file(record):
        yield f"Read as {read_as['format']}."
        yield f"{'; '.join(filter(None, (read_as['columns'], read_as['unused'])))}."
        if statuses := sentences.statuses_sentence(record.statuses):
            yield f"Statuses: {statuses}."
        yield from filter(None, [read_as["hidden"]])
        yield from (f"For example: {example}" for example in read_as["examples"])
        yield from filter(None, [read_as["encoding_warning"]])
    how = "pending; each gets one mail with a button to confirm"
    if record.confirmed:
        how = sentences.added_sentence(
            record,
            confirmed=WITH_CONSENT,
            none=f"confirmed, {sentences.NONE_SUBSCRIBED}",
            pending="pending and asked by mail",
        )
    yield _line("added", record.added, how)
    yield _line("known", record.known, "on the list before; left as they were")
    yield _line("duplicates", record.duplicates, "the same address stood further up in the file")
    yield _line("skipped", record.skipped, "an import brings nobody back")
    for reason, count in sentences.skipped_sentences(record.skipped_because).items():
        yield f"{'':26}{count:,} of them: {reason}"
    yield _line("rejected", record.rejected, "no reader that can be mailed")
    yield _line("rows", record.rows, "the sum")


def rejected_lines(shown: Sequence[RejectedRow], count: int, result: str) -> Iterator[str]:
    """The first rows that were rejected or skipped, and how many more there are."""
    for row in shown:
        email = row.email or "(no address)"
        yield f"line {row.line} {result}: {email}: {sentences.reason_sentence(row)}"
    if count > len(shown):
        yield f"and {count - len(shown):,} more rows {result}"


def _line(word: str, count: int, meaning: str) -> str:
    return f"  {word:<12}{count:>10,}  {meaning}"

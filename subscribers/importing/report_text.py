"""An import's report in words, for a terminal or a log. Pure: from values to lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from subscribers.importing.file_format.validate_row import LeftOut
from subscribers.importing.report import ADDED_PENDING, ImportReport, statuses_in_words

WITH_CONSENT = "confirmed, because their consent was stated to have been given elsewhere"
NONE_SUBSCRIBED = "because the file says of none of them that they are subscribed"
WITHOUT_CONSENT = "pending; each gets one mail with a button to confirm"


def report_lines(
    report: ImportReport, filename: str, *, dry_run: bool, confirmed: bool
) -> Iterator[str]:
    """The report: what was done, and a ledger that ends in its sum."""
    if report.went_on:
        yield (
            f"The content of {filename} was brought before, as import {report.import_id}, which "
            "had not come to its end. It has now; these are the numbers of all of it."
        )
    elif report.import_id is not None and not report.created:
        yield (
            f"The content of {filename} was imported before, as import {report.import_id}. "
            "Nothing was done now; these are the numbers of that time."
        )
    elif dry_run:
        yield f"A dry run of {filename}: nothing has changed."
    else:
        yield f"{filename} was imported as import {report.import_id}."
    if report.import_id is not None and not report.created and confirmed != report.confirmed:
        stated = "with" if report.confirmed else "without"
        yield f"That import was made {stated} --confirmed, and that is how it stays."
    if report.read_as:
        yield f"Read as {report.read_as.read_as}."
        yield f"{'; '.join(filter(None, (report.read_as.columns, report.read_as.not_used)))}."
        for said in (statuses_line(report), report.read_as.hidden):
            if said:
                yield said
        for example in report.read_as.examples:
            yield f"For example: {example}"
        if report.read_as.doubt:
            yield report.read_as.doubt
    counts = report.counts
    how = WITH_CONSENT if report.confirmed else WITHOUT_CONSENT
    if report.confirmed and (pending := report.statuses.get(ADDED_PENDING, 0)):
        ready = counts.added - pending
        why = WITH_CONSENT if ready else f"confirmed, {NONE_SUBSCRIBED}"
        how = f"{ready:,} {why}; {pending:,} pending and asked by mail"
    yield _line("added", counts.added, how)
    yield _line("known", counts.known, "on the list before; left as they were")
    yield _line("duplicates", counts.duplicates, "the same address stood further up in the file")
    yield _line("skipped", counts.skipped, "an import brings nobody back")
    for reason, count in sorted(report.skipped_because.items()):
        yield f"{'':26}{count:,} of them: {reason}"
    yield _line("rejected", counts.rejected, "no reader that can be mailed")
    yield _line("rows", counts.rows, "the sum")


def statuses_line(report: ImportReport) -> str:
    """What the rows say of themselves; empty if the file has no status."""
    said = statuses_in_words(report.statuses)
    return f"Statuses: {said}." if said else ""


def left_out_lines(shown: Sequence[LeftOut], count: int, result: str) -> Iterator[str]:
    """The first rows that were left out, and how many more there are."""
    for row in shown:
        yield f"line {row.line} {result}: {row.email or '(no address)'}: {row.reason}"
    if count > len(shown):
        yield f"and {count - len(shown):,} more rows {result}"


def _line(word: str, count: int, meaning: str) -> str:
    return f"  {word:<12}{count:>10,}  {meaning}"

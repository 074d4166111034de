"""The text at the end of the demo, at most `WIDTH` columns wide."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from delivery.interface import reason_sentence
from newsletter_site.demo.demo_checks import Observed
from subscribers.importing import import_sentences
from subscribers.models import RejectedRow

WIDTH = 100
REJECTED_SHOWN = 3
NOT_SENT_SHOWN = 10
OUTCOMES = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
INDENT = "    "


def summary(observed: Observed, broken: Sequence[str], seconds: float) -> str:
    """Describe the results, and whether all checks passed."""
    lines = [
        *_about_readers(observed),
        *_about_publishing(observed),
        *_not_sent(observed),
        *_result(observed, broken, seconds),
    ]
    return "\n".join(line[:WIDTH] for line in lines)


def table(rows: Mapping[str, object]) -> str:
    """Format labels and values as indented lines."""
    return "\n".join(f"{INDENT}{label:<13}{value}" for label, value in rows.items())


def _about_readers(observed: Observed) -> Iterator[str]:
    counts = observed.imported.record
    again = "" if observed.imported.created else " (imported earlier)"
    yield f"Readers: {counts.rows:,} rows of readers.csv{again}"
    for number, words in (
        (counts.added, "imported, with consent given elsewhere"),
        (counts.duplicates, "duplicates"),
        (counts.known, "already on the list"),
        (counts.skipped, "skipped: unsubscribed, bounced or marked as spam"),
        (counts.rejected, "rejected, for example"),
    ):
        if number:
            yield f"{INDENT}{number:>10,}  {words}"
    rejected = counts.rejected_rows.filter(result=RejectedRow.Result.REJECTED).order_by("line")
    for row in rejected[:REJECTED_SHOWN]:
        yield f"{INDENT * 4}line {row.line}: {row.email} ({import_sentences.reason_sentence(row)})"
    if observed.mailable != observed.total:
        yield f"{INDENT}{observed.mailable:>10,}  confirmed now, of {observed.total:,} on the list"


def _about_publishing(observed: Observed) -> Iterator[str]:
    yield "\nThe form, posted twice at the same time with one key"
    for label, post in zip(("first", "second"), observed.posts, strict=True):
        yield f"{INDENT}{label:<10}{post.status}, after {post.seconds:.1f} s"
    yield f"{INDENT}{'result':<10}editions created: {observed.editions}"
    counts = observed.status.counts
    yield f"\nCounts of “{counts.title}”"
    for outcome in OUTCOMES:
        yield f"{INDENT}{outcome:<16}{getattr(counts, outcome):>10,}"
    yield f"{INDENT}{'audience':<16}{counts.audience:>10,}"


def _not_sent(observed: Observed) -> Iterator[str]:
    rows = [row for row in observed.deliveries.values() if row.outcome != "sent"]
    rows.sort(key=attrgetter("address"))
    if rows:
        yield "\nNot sent"
    for row in rows[:NOT_SENT_SHOWN]:
        yield f"{INDENT}{row.outcome:<12}{row.address}"
        yield from _wrapped(reason_sentence(row.reason), INDENT * 4)
    if len(rows) > NOT_SENT_SHOWN:
        yield f"{INDENT}and {len(rows) - NOT_SENT_SHOWN:,} more"


def _result(observed: Observed, broken: Sequence[str], seconds: float) -> Iterator[str]:
    if broken:
        yield "\nChecks that failed:"
        for sentence in broken:
            yield from _wrapped(sentence, INDENT)
        audience = observed.status.counts.audience
        yield f"{observed.exactly_once:,} of {audience:,} readers got the issue exactly once."
    else:
        yield f"\nAll checks passed after {seconds:.0f} s. The sandbox shows:"
        yield f"{observed.exactly_once:,} readers got the issue, each exactly once."


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)

"""The text at the end of the demo, at most `WIDTH` columns wide."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from delivery.interface import reason_sentence
from newsletter_site.demo.checks import Observed
from subscribers.importing import import_sentences
from subscribers.models import RejectedRow

WIDTH = 100
REJECTED_SHOWN = 3
NOT_SENT_SHOWN = 10
OUTCOMES = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
INDENT = "    "


def summary(observed: Observed, broken: Sequence[str], seconds: float) -> str:
    """What happened, and whether every promise was kept."""
    lines = [
        *_about_readers(observed),
        *_about_publishing(observed),
        *_not_sent(observed),
        *_result(observed, broken, seconds),
    ]
    return "\n".join(line[:WIDTH] for line in lines)


def table(rows: Mapping[str, object]) -> str:
    """Indented labels with their values."""
    return "\n".join(f"{INDENT}{label:<13}{value}" for label, value in rows.items())


def _about_readers(observed: Observed) -> Iterator[str]:
    counts = observed.imported.record
    again = "" if observed.imported.created else ", imported before and not again"
    yield f"The readers: {counts.rows:,} rows of readers.csv{again}"
    for number, words in (
        (counts.added, "imported, with consent given elsewhere"),
        (counts.duplicates, "doubles, folded into the reader they repeat"),
        (counts.known, "on the list before"),
        (counts.skipped, "skipped, because they left, bounced or complained"),
        (counts.rejected, "rejected, each with its reason, such as"),
    ):
        if number:
            yield f"{INDENT}{number:>10,}  {words}"
    rejected = counts.rejected_rows.filter(result=RejectedRow.Result.REJECTED).order_by("line")
    for row in rejected[:REJECTED_SHOWN]:
        yield f"{INDENT * 4}line {row.line}: {row.email} ({import_sentences.reason_sentence(row)})"
    if observed.mailable != observed.total:
        yield f"{INDENT}{observed.mailable:>10,}  to mail now, of {observed.total:,} on the list"


def _about_publishing(observed: Observed) -> Iterator[str]:
    yield "\nThe form, posted twice at once with one key"
    for label, post in zip(("first", "second"), observed.posts, strict=True):
        statuses = ", then ".join(map(str, post.statuses))
        yield f"{INDENT}{label:<10}{statuses}, after {post.seconds:.1f} s"
    plural = "" if observed.editions == 1 else "s"
    yield f"{INDENT}{'together':<10}{observed.editions} edition{plural}"
    counts = observed.status.counts
    yield f"\nThe counts of “{counts.title}”"
    for outcome in OUTCOMES:
        yield f"{INDENT}{outcome:<16}{getattr(counts, outcome):>10,}"
    yield f"{INDENT}{'audience':<16}{counts.audience:>10,}"


def _not_sent(observed: Observed) -> Iterator[str]:
    rows = [row for row in observed.deliveries.values() if row.outcome != "sent"]
    rows.sort(key=attrgetter("address"))
    if rows:
        yield "\nNot sent, and why"
    for row in rows[:NOT_SENT_SHOWN]:
        yield f"{INDENT}{row.outcome:<12}{row.address}"
        yield from _wrapped(reason_sentence(row.reason), INDENT * 4)
    if len(rows) > NOT_SENT_SHOWN:
        yield f"{INDENT}and {len(rows) - NOT_SENT_SHOWN:,} more"


def _result(observed: Observed, broken: Sequence[str], seconds: float) -> Iterator[str]:
    if broken:
        yield "\nNot as promised:"
        for sentence in broken:
            yield from _wrapped(sentence, INDENT)
        audience = observed.status.counts.audience
        yield f"{observed.exactly_once:,} of {audience:,} readers exactly once."
    else:
        yield f"\nCounted by the copies that the sandbox has, after {seconds:.0f} s in all:"
        yield f"{observed.exactly_once:,} readers, each exactly once."


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)

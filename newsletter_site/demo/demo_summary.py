"""Compare the demo's results with Homing's promises, and describe the results."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from delivery.interface import reason_sentence
from delivery.models import Delivery
from delivery.rules.edition_state import EditionState
from newsletter_site.demo.demo_browser import Post
from publishing.editions.edition_status import EditionStatus
from subscribers.importing import import_sentences
from subscribers.importing.import_file import ImportReport
from subscribers.models import RejectedRow

WIDTH = 100  # columns
REJECTED_SHOWN = 3
NOT_SENT_SHOWN = 10
OUTCOMES = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Observed:
    """The results for the demo's issue.

    `deliveries` are the rows in Homing's database and `copies` the mails in the sandbox; both are
    dicts whose keys are delivery keys. `mailable` is the number of readers, out of `total`, who
    were confirmed before publishing. `links` are the HTTP statuses of the pages that a mail links
    to.
    """

    imported: ImportReport
    total: int
    posts: tuple[Post, Post]
    mailable: int
    editions: int
    status: EditionStatus
    violations: Sequence[str]
    deliveries: Mapping[str, Delivery]
    copies: Mapping[str, int]
    readers_with_two: int
    links: Mapping[str, int]

    @property
    def exactly_once(self) -> int:
        """Count deliveries that are sent and have exactly one copy in the sandbox."""
        rows = self.deliveries.items()
        return sum(row.outcome == "sent" and self.copies.get(key) == 1 for key, row in rows)


def broken_promises(observed: Observed) -> Iterator[str]:
    """Yield a sentence for each broken promise."""
    first, second = observed.posts
    if not first.status == second.status == 303:
        found = f"{first.status} and {second.status}"
        yield f"The two posts were answered {found} instead of 303 and 303."
    elif first.location != second.location:
        yield f"The two posts lead to different pages: {first.location} and {second.location}."
    if observed.editions != 1:
        yield f"The two posts created {observed.editions} editions instead of 1."
    audience, mailable = observed.status.counts.audience, observed.mailable
    if audience != mailable:
        yield f"The audience is {audience:,}, but {mailable:,} readers were confirmed."
    for link, status in observed.links.items():
        if status != 200:
            yield f"The link {link} in a mail answers {status} instead of 200."
    if observed.status.state is not EditionState.SUCCEEDED:
        yield f"The edition ended as “{observed.status.words}”. {observed.status.reason()}".rstrip()
    yield from observed.violations
    deliveries, copies = observed.deliveries.keys(), observed.copies
    sent = {key for key, row in observed.deliveries.items() if row.outcome == "sent"}
    problems = {
        "Deliveries sent without a copy": len(sent - copies.keys()),
        "Deliveries with more than one copy": sum(number > 1 for number in copies.values()),
        "Deliveries not sent, but with a copy": len(copies.keys() & (deliveries - sent)),
        "Copies without a delivery": len(copies.keys() - deliveries),
        "Addresses with two copies of one edition": observed.readers_with_two,
    }
    for problem, number in problems.items():
        if number:
            yield f"{problem}: {number:,}."


def summary(observed: Observed, broken: Sequence[str], seconds: float) -> str:
    """Return a text about the results and all broken promises."""
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

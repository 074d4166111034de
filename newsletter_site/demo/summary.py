"""What the demo tells at its end, as plain text of at most `WIDTH` columns. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from delivery.rules.edition_counts import EditionCounts
from newsletter_site.demo.author import Author
from newsletter_site.demo.checks import Entry, Happened
from newsletter_site.demo.posting_twice import Post
from newsletter_site.demo.readers import Readers

WIDTH = 100
SHOWN = 3  # of the rejected rows
OUTCOMES = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where to look on; `mail` shows one mail, and `unsubscribe` is the link that it holds."""

    write: str
    progress: str
    front: str
    archive: str
    inbox: str
    mail: str
    unsubscribe: str


def summary(readers: Readers, happened: Happened, broken: Sequence[str], seconds: float) -> str:
    """Everything that happened, ending with what it comes to."""
    lines = (
        *_about_readers(readers),
        "",
        *_about_the_form(happened),
        "",
        *_ledger(happened.books),
        *_about_those_not_sent(happened.not_sent),
        "",
        *_verdict(happened, broken, seconds),
    )
    return "\n".join(lines)


def _about_readers(readers: Readers) -> Iterator[str]:
    counts = readers.report.counts
    if readers.report.created:
        yield f"The readers: {counts.rows:,} rows of readers.csv"
    else:
        yield f"The readers: {counts.rows:,} rows of readers.csv, imported before and not again"
    yield _number(counts.added, "imported, with consent given elsewhere")
    yield _number(counts.duplicates, "doubles, folded into the reader they repeat")
    if counts.known:
        yield _number(counts.known, "on the list before")
    if counts.skipped:
        yield _number(counts.skipped, "skipped, because they left, bounced or complained")
    yield _number(counts.rejected, "rejected, each with its reason, such as")
    for row in readers.rejected[:SHOWN]:
        yield _cut(f"{INDENT * 4}line {row.line}: {row.email} ({row.reason})")
    if readers.mailable != readers.on_the_list:
        states = ", ".join(f"{number:,} {state}" for state, number in readers.states.most_common())
        yield f"{INDENT}On the list now: {states}."


def _about_the_form(happened: Happened) -> Iterator[str]:
    editions = happened.editions_made
    yield "The form, posted twice at once with one key"
    for which, post in (("first", happened.posted.first), ("second", happened.posted.second)):
        yield f"{INDENT}{which:<10}{_statuses(post)}, after {post.seconds:.1f} s"
    yield f"{INDENT}{'together':<10}{editions} {'edition' if editions == 1 else 'editions'}"


def _statuses(post: Post) -> str:
    return ", then ".join(map(str, post.statuses))


def _ledger(books: EditionCounts) -> Iterator[str]:
    """The books, closed as bookkeepers close theirs: a rule, the sum, a double rule."""
    yield _cut(f"The books of “{books.title}”")
    for outcome in OUTCOMES:
        yield f"{INDENT}{outcome:<16}{getattr(books, outcome):>10,}"
    together = sum(getattr(books, outcome) for outcome in OUTCOMES)
    balance = "equals the audience" if books.balanced else f"but the audience is {books.audience:,}"
    yield f"{INDENT}{'':<16}{'-' * 10}"
    yield f"{INDENT}{'together':<16}{together:>10,}   {balance}"
    yield f"{INDENT}{'':<16}{'=' * 10}"


def _about_those_not_sent(entries: Sequence[Entry]) -> Iterator[str]:
    if not entries:
        return
    yield ""
    yield "Not sent, and why"
    for entry in entries[:10]:
        yield _cut(f"{INDENT}{entry.outcome:<12}{entry.address}")
        yield from _wrapped(entry.reason, INDENT * 4)
    if len(entries) > 10:
        yield f"{INDENT}and {len(entries) - 10:,} more"


def _verdict(happened: Happened, broken: Sequence[str], seconds: float) -> Iterator[str]:
    if broken:
        yield "Not as promised:"
        for sentence in broken:
            yield from _wrapped(sentence, INDENT)
        yield f"{happened.exactly_once:,} of {happened.books.audience:,} readers exactly once."
        return
    yield f"Counted by the copies that the sandbox has, after {seconds:.0f} s in all:"
    yield f"{happened.exactly_once:,} readers, each exactly once."


def where_to_look_on(addresses: Addresses, author: Author) -> str:
    """What a person can open while the demo stays up."""
    lines = (
        "",
        "What is on the site, open to everybody:",
        f"{INDENT}{'front page':<13}{addresses.front}",
        f"{INDENT}{'archive':<13}{addresses.archive}",
        f"{INDENT}{'every mail':<13}{addresses.inbox}",
        f"{INDENT}{'one of them':<13}{addresses.mail}",
        f"{INDENT}{'its way out':<13}{addresses.unsubscribe}",
        "",
        "Now write an issue of your own. It goes to the sandbox, no further; README.md shows how.",
        f"{INDENT}{'write':<13}{addresses.write}",
        f"{INDENT}{'user name':<13}{author.username}",
        f"{INDENT}{'password':<13}{author.password}",
        f"{INDENT}{'this issue':<13}{addresses.progress}",
        "The site stays up until Ctrl-C.",
    )
    return "\n".join(lines)


def _number(number: int, words: str) -> str:
    return f"{INDENT}{number:>10,}  {words}"


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)

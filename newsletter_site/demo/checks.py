"""
What Homing promises, held against what happened. Pure: values in, sentences out.

The ledger is what we wrote down; the copies are what the provider counted by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from delivery.rules.edition_counts import EditionCounts
from newsletter_site.demo.posting_twice import PostedTwice

ACCEPTED = 303


@dataclass(frozen=True, slots=True)
class Entry:
    """One delivery of the ledger."""

    address: str
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Happened:
    """
    All that is judged. `ledger` and `copies` are by delivery key and about this run's issue only.

    `mailable` were the readers when the form was posted, `editions_made` the editions that came
    of both posts, `links` the answers to the links of one mail.
    """

    posted: PostedTwice
    mailable: int
    editions_made: int
    books: EditionCounts
    state: str
    reason: str
    ledger: Mapping[str, Entry]
    copies: Mapping[str, int]
    readers_with_two: int
    links: Mapping[str, int]

    @property
    def exactly_once(self) -> int:
        """Readers of whom the provider has one copy, and whose delivery is down as sent."""
        return sum(
            entry.outcome == "sent" and self.copies.get(key) == 1
            for key, entry in self.ledger.items()
        )

    @property
    def not_sent(self) -> list[Entry]:
        """Whom the ledger does not have as sent, by address."""
        others = (entry for entry in self.ledger.values() if entry.outcome != "sent")
        return sorted(others, key=lambda entry: entry.address)


def broken_promises(happened: Happened) -> list[str]:
    """A sentence for each promise that was not kept; empty if all were."""
    return [*_about_the_form(happened), *_about_the_books(happened), *_about_the_copies(happened)]


def _about_the_form(happened: Happened) -> Iterator[str]:
    first, second = happened.posted.first, happened.posted.second
    if (first.statuses[-1], second.statuses[-1]) != (ACCEPTED, ACCEPTED):
        yield (
            f"The two posts were answered {first.statuses[-1]} and {second.statuses[-1]}; "
            f"both should be {ACCEPTED}."
        )
    elif first.location != second.location:
        yield f"The two posts lead to {first.location} and {second.location}, not to one page."
    if happened.editions_made != 1:
        yield f"The two posts made {happened.editions_made} editions instead of one."


def _about_the_books(happened: Happened) -> Iterator[str]:
    books = happened.books
    if not books.balanced:
        yield "The books do not balance: the outcomes do not add up to the audience."
    if books.audience != happened.mailable:
        yield (
            f"The audience is {books.audience:,}, but {happened.mailable:,} readers were confirmed."
        )
    if happened.state != "succeeded":
        yield f"The edition ended as “{happened.state}”. {happened.reason}".rstrip()
    for outcome in ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting"):
        in_ledger = sum(entry.outcome == outcome for entry in happened.ledger.values())
        in_books = getattr(books, outcome)
        if in_ledger != in_books:
            yield f"The books say {in_books:,} {outcome}, the deliveries {in_ledger:,}."


def _about_the_copies(happened: Happened) -> Iterator[str]:
    ledger, copies = happened.ledger, happened.copies
    sent = {key for key, entry in ledger.items() if entry.outcome == "sent"}
    for number, words in (
        (sum(key not in copies for key in sent), "Readers down as sent who have no copy"),
        (sum(size > 1 for size in copies.values()), "Readers who have more than one copy"),
        (
            len((copies.keys() & ledger.keys()) - sent),
            "Readers not down as sent who have a copy",
        ),
        (len(copies.keys() - ledger.keys()), "Copies that belong to nobody in the ledger"),
        (happened.readers_with_two, "Addresses that have two copies of one edition"),
    ):
        if number:
            yield f"{words}: {number:,}."
    for link, status in happened.links.items():
        if status != 200:
            yield f"The link {link} of a mail answers {status} instead of 200."

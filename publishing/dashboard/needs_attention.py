"""
The editions that go on only when a person decides: newsletters, and mail on request.

Each with what names it to a command: its issue and its version. An older version may be among them
while a newer one has gone out.
"""

from __future__ import annotations

from collections.abc import Iterator

from delivery.mail.transactional_mail import edition_name
from delivery.reports.active_editions import load_held_transactional, load_open_newsletters
from delivery.reports.edition_counts import load_open_counts
from delivery.rules.edition_state import awaits_decision
from publishing.content.edition_content import Content
from publishing.editions.status import EditionStatus, status_from_counts


def waiting_for_a_person() -> list[EditionStatus]:
    """
    How each of them stands, the oldest first, read from the batches that are not over: the state
    and the reason are whole, the counts are not.
    """
    editions = [*load_open_newsletters(), *load_held_transactional()]
    return [
        status_from_counts(books)
        for books in sorted(load_open_counts(among=editions), key=lambda books: books.edition)
        if awaits_decision(books)
    ]


def lines_for_a_person() -> Iterator[str]:
    """A line for each: its issue and version, what it is called, its state, and why."""
    for status in waiting_for_a_person():
        books = status.books
        name = (
            edition_name(books.kind, books.version)
            if books.is_transactional
            else Content(books.title, "", "").plain_title
        )
        yield (
            f"issue {books.issue} version {books.version} “{name}”: {status.state.words}. "
            f"{status.reason}"
        )

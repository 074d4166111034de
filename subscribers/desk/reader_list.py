"""
The list of readers, a page at a time, and what is looked for in it. Newest first.

What it costs at a million readers: a page is a few rows of the primary key; a search by the start
of an address, up to its @ at least, is one look into its index; any other search looks at every
row, for about a second (40 ms at 100,000), and is given `SEARCH_S` and no more. The counts by state
are one pass over the table, some tenths of a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db import OperationalError, connection, transaction
from django.db.models import Count, Q, QuerySet
from psycopg.errors import QueryCanceled

from subscribers.models import Subscriber, Suppression

PAGE = 50
CHUNK = 2000
LONGEST_SEARCH = 254
# For what has no index. The database ends it; the person is told what finds sooner.
SEARCH_S = 3


class SearchTookTooLongError(Exception):
    """Nothing was found within the time that a search may take."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What is looked for: a state, or every one where it is empty; and a text in any."""

    state: str = ""
    text: str = ""

    @classmethod
    def for_(cls, state: str, text: str) -> Looked:
        """
        As an address of a page names it; what is no state stands for all. A NUL, which no text in
        the database can hold, is not looked for.
        """
        looked_for = text.replace("\0", "").strip()[:LONGEST_SEARCH]
        return cls(state if state in Subscriber.State.values else "", looked_for)


@dataclass(frozen=True, slots=True)
class ReaderPage:
    """Some readers, and the number before which the next page begins, if there is one."""

    readers: Sequence[Subscriber]
    before: int | None


def page_of(looked: Looked, before: int | None = None, *, most: int = PAGE) -> ReaderPage:
    """Up to `most` readers. Raises `SearchTookTooLongError`."""
    found = matching(looked).order_by("-id")
    if before is not None:
        found = found.filter(id__lt=before)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{SEARCH_S}s'")
            readers = list(found.select_related("subscriber_import")[: most + 1])
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise SearchTookTooLongError from error
        raise
    return ReaderPage(readers[:most], readers[most - 1].pk if len(readers) > most else None)


def counts_by_state() -> Mapping[str, int]:
    """How many readers there are in each state, in the order in which states are named."""
    found = dict(Subscriber.objects.order_by().values_list("state").annotate(readers=Count("id")))
    return {state: found.get(state, 0) for state in Subscriber.State.values}


def everybody(looked: Looked) -> Iterator[Subscriber]:
    """All who match, oldest first, some at a time: memory stays the same however many they are."""
    last = 0
    found = matching(looked).select_related("subscriber_import").order_by("id")
    while chunk := list(found.filter(id__gt=last)[:CHUNK]):
        yield from chunk
        last = chunk[-1].pk


def suppressed_elsewhere(looked: Looked) -> Suppression | None:
    """The suppression of the address that is looked for, if no reader on the list has it."""
    key = looked.text.lower()
    if Subscriber.objects.filter(email_key=key).exists():
        return None
    return Suppression.objects.filter(address_key=key, lifted_at=None).first()


def matching(looked: Looked) -> QuerySet[Subscriber]:
    """
    The readers that a search finds, by a part of their address or name.

    If the text has an @ and addresses begin with it, only these are found, by an index.
    """
    found = Subscriber.objects.all()
    if looked.state:
        found = found.filter(state=looked.state)
    if looked.text:
        key = looked.text.lower()
        start = Q(email_key__startswith=key)
        # No index finds a part: one of trigrams would cost too much at each row of an import.
        part = Q(email_key__contains=key) | Q(name__icontains=looked.text)
        is_start = "@" in key[1:] and Subscriber.objects.filter(start).exists()
        found = found.filter(start if is_start else part)
    return found

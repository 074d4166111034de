"""
The list of readers, newest first, filtered by state or text.

A search finds any part of an address or field with a trigram index, which needs three characters. A
shorter text matches the start of an address. Without the extension pg_trgm a search reads every
row, which takes about a second for a million.
"""

from collections.abc import Iterator
from typing import NamedTuple

from django.db import OperationalError, connection, transaction
from django.db.models import F, Func, Q, QuerySet, TextField, Value
from django.db.models.functions import Lower
from psycopg.errors import QueryCanceled

from delivery.reader_fields import FIELD_NAMES
from subscribers.models import Subscriber, Suppression

PAGE = 50
CHUNK = 2000
LONGEST_SEARCH = 254
SHORTEST_PART = 3  # trigrams
SEARCH_S = 3  # the database stops a search after this time

# The address and all fields, as the index `subscriber_search` has them.
_SEARCHED = Lower(
    Func(
        *(F(column) for column in ("email", *FIELD_NAMES)),
        template='(%(expressions)s) COLLATE "default"',
        arg_joiner=" || chr(10) || ",
        output_field=TextField(),
    )
)


class SearchTookTooLongError(Exception):
    """The search exceeded its time limit."""


class ReaderFilter(NamedTuple):
    """A state and a text to search for; empty ones match every reader."""

    state: str = ""
    text: str = ""

    @property
    def is_prefix(self) -> bool:
        """Whether the text is too short for the index and matches only a start."""
        # In other scripts a whole name may be this short, so any part may match.
        return 0 < len(self.text) < SHORTEST_PART and self.text.isascii() and self.text.isalnum()


def load_page(
    chosen: ReaderFilter, before: int | None = None, *, limit: int = PAGE
) -> tuple[list[Subscriber], int | None]:
    """
    Load up to `limit` readers, and the `before` of the next page if there is one.

    Raises `SearchTookTooLongError`.
    """
    found = matching_readers(chosen).order_by("-id")
    if before is not None:
        found = found.filter(id__lt=before)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{SEARCH_S}s'")
            readers = list(found.select_related("subscriber_import")[: limit + 1])
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise SearchTookTooLongError from error
        raise
    return readers[:limit], readers[limit - 1].pk if len(readers) > limit else None


def iter_readers(chosen: ReaderFilter) -> Iterator[Subscriber]:
    """Iterate over the matching readers, oldest first, in constant memory."""
    last = 0
    found = matching_readers(chosen).select_related("subscriber_import").order_by("id")
    while chunk := list(found.filter(id__gt=last)[:CHUNK]):
        yield from chunk
        last = chunk[-1].pk


def find_suppression(chosen: ReaderFilter) -> Suppression | None:
    """Find the suppression of the searched address if no reader has the address."""
    key = chosen.text.lower()
    if Subscriber.objects.filter(email_key=key).exists():
        return None
    return Suppression.objects.filter(address_key=key, lifted_at=None).first()


def matching_readers(chosen: ReaderFilter) -> QuerySet[Subscriber]:
    """Select readers by the start of their address, else by any part of it or a field."""
    found = Subscriber.objects.all()
    if chosen.state:
        found = found.filter(state=chosen.state)
    if chosen.text:
        start = Q(email_key__startswith=chosen.text.lower())
        if chosen.is_prefix or ("@" in chosen.text[1:] and found.filter(start).exists()):
            return found.filter(start)
        found = found.alias(searched=_SEARCHED)
        found = found.filter(searched__contains=Lower(Value(chosen.text)))
    return found

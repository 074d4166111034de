"""
The list of readers, newest first, filtered by state or text.

Only a search by the start of an address uses an index. Other searches read every row, which takes
about a second for a million readers.
"""

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db import OperationalError, connection, transaction
from django.db.models import Count, Q, QuerySet
from psycopg.errors import QueryCanceled

from delivery.reader_fields import FIELD_NAMES
from subscribers.models import Subscriber, Suppression

PAGE = 50
CHUNK = 2000
LONGEST_SEARCH = 254
SEARCH_S = 3  # the database stops a search after this time


class SearchTookTooLongError(Exception):
    """The search exceeded its time limit."""


class ReaderFilter(NamedTuple):
    """A state and a text to search for; empty ones match every reader."""

    state: str = ""
    text: str = ""


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


def counts_by_state() -> Mapping[str, int]:
    """Count the readers in each state, in the order of the states."""
    found = dict(Subscriber.objects.order_by().values_list("state").annotate(readers=Count("id")))
    return {state: found.get(state, 0) for state in Subscriber.State.values}


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
        key = chosen.text.lower()
        start = Q(email_key__startswith=key)
        # An index of trigrams would slow down imports too much.
        fields = (Q(**{f"{name}__icontains": chosen.text}) for name in FIELD_NAMES)
        part = reduce(or_, fields, Q(email_key__contains=key))
        is_start = "@" in key[1:] and Subscriber.objects.filter(start).exists()
        found = found.filter(start if is_start else part)
    return found

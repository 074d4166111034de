"""The list of readers. By default, the reader who was added last comes first.

A search finds any part of an address or name with a trigram index, which needs three characters. A
shorter text matches only the start of an address. Without the extension pg_trgm, a search reads
every row, which takes about a second for a million readers.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import OperationalError, connection, transaction
from django.db.models import (
    Case,
    Count,
    F,
    Func,
    Model,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Lower
from psycopg.errors import QueryCanceled

from delivery.models import Newsletter, ProviderSuppression
from delivery.reader_fields import FIELD_NAMES
from subscribers.address import in_ascii, read_address
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.desk.reader_order import NEWEST, Place, in_order
from subscribers.models import Subscriber, Suppression
from subscribers.refusal_sentences import InputRefusal
from subscribers.suppression_sentences import OF_PROVIDER, OURS, code_of

PAGE = 50
CHUNK = 2_000  # this number of rows is in memory at the same time
SEARCH_S = 3  # the database stops a search after these seconds
COUNT_S = 1  # a page shows no counts if counting takes longer

# The searched text: address and name. This expression must equal that of the index
# `subscriber_search`.
_SEARCHED = Lower(
    Func(
        *(F(column) for column in ("email", *FIELD_NAMES)),
        template='(%(expressions)s) COLLATE "default"',
        arg_joiner=" || chr(10) || ",
        output_field=TextField(),
    )
)

Row = TypeVar("Row", bound=Model)


class SearchTookTooLongError(Exception):
    """The search exceeded its time limit."""


def load_page(
    chosen: ReaderFilter, after: Place | None = None, *, limit: int = PAGE, sort: str = NEWEST
) -> tuple[list[Subscriber], Place | None]:
    """Load up to `limit` readers, and the `after` of the next page (None: last page).

    Raises `SearchTookTooLongError`.
    """
    readers: list[Subscriber] = []
    with time_limit(SEARCH_S):
        matching, is_filtered = matching_readers(chosen), bool(chosen.parameters)
        for found in in_order(matching, sort, after, is_filtered=is_filtered):
            wanted = limit + 1 - len(readers)
            readers += found.select_related("subscriber_import")[:wanted] if wanted else []
    last = Place(readers[limit - 1].pk, readers[limit - 1].state) if len(readers) > limit else None
    return readers[:limit], last


def count_by_state(chosen: ReaderFilter) -> Mapping[str, int] | None:
    """Count the readers in each state who match the other filters.

    None if counting takes too long. One statement counts all states, because a statement for each
    state would repeat the search.
    """
    found = matching_readers(chosen._replace(state="")).order_by()
    try:
        with time_limit(COUNT_S):
            counted = dict(found.values_list("state").annotate(Count("id")))
    except SearchTookTooLongError:
        return None
    return {state: counted.get(state, 0) for state in Subscriber.State.values}


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Run a transaction; raise `SearchTookTooLongError` after the time limit."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{seconds}s'")
            yield
            cursor.execute("SET LOCAL statement_timeout = DEFAULT")
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise SearchTookTooLongError from error
        raise


def iter_readers(chosen: ReaderFilter) -> Iterator[Any]:
    """Iterate over the matching readers, oldest first, in constant memory.

    Each reader has the attribute `suppressed` that `with_suppressed` adds.
    """
    readers = matching_readers(chosen).select_related("subscriber_import")
    return rows_by_id(with_suppressed(readers))


def with_suppressed(readers: QuerySet[Subscriber]) -> QuerySet[Any]:
    """Add `suppressed`, the reason why a reader is not mailed, which `code_of` reads.

    If Homing does not suppress the address, `suppressed` is the reason why the provider would
    refuse the reader's next mail. For a confirmed reader, the next mail is a letter. For any other
    reader, the next mail is a mail on request.
    """
    held = Suppression.objects.filter(address_key=OuterRef("email_key"), lifted_at=None)
    refused = ProviderSuppression.objects.filter(
        address_key=OuterRef("email_key"), stream=OuterRef("next_stream"), refuses=True
    )
    streams = Case(
        When(state=Subscriber.State.CONFIRMED, then=Value(settings.BROADCAST_STREAM)),
        default=Value(settings.TRANSACTIONAL_STREAM),
    )
    return readers.alias(next_stream=streams).annotate(
        suppressed=Coalesce(
            Subquery(held.values_list(_entry_on(OURS))),
            Subquery(refused.values_list(_entry_on(OF_PROVIDER))),
        )
    )


def _entry_on(list_: str) -> Func:
    parts = (Value(list_), "reason", "origin")
    return Func(*parts, template="ARRAY[%(expressions)s]", output_field=ArrayField(TextField()))


def load_suppression_codes(readers: Iterable[Subscriber]) -> dict[int, str]:
    """For each of these readers, load the code of the reason why they are not mailed."""
    if not (ids := [reader.pk for reader in readers]):
        return {}
    entries = with_suppressed(Subscriber.objects.filter(pk__in=ids)).values_list("pk", "suppressed")
    return {reader: code_of(entry) for reader, entry in entries if entry is not None}


def rows_by_id(rows: QuerySet[Row]) -> Iterator[Row]:
    """Iterate over rows in the order of their ids; no transaction stays open."""
    page = rows = rows.order_by("pk")
    while chunk := list(page[:CHUNK]):
        yield from chunk
        page = rows.filter(pk__gt=chunk[-1].pk)


def find_suppression(chosen: ReaderFilter) -> Suppression | None:
    """Find the suppression of the searched address; None if a reader has the address."""
    address = read_address(chosen.text)
    key = (chosen.text if isinstance(address, InputRefusal) else address).lower()
    if Subscriber.objects.filter(email_key=key).exists():
        return None
    return Suppression.objects.filter(address_key=key, lifted_at=None).first()


def matching_readers(chosen: ReaderFilter) -> QuerySet[Subscriber]:
    """Select readers by the filters and the searched text.

    A text with `is_prefix` matches the start of an address; any other text matches any part of an
    address or name.
    """
    found = Subscriber.objects.all()
    if chosen.state:
        found = found.filter(state=chosen.state)
    if chosen.tag is not None:
        found = found.filter(tags__contains=[chosen.tag])
    if chosen.import_id is not None:
        found = found.filter(subscriber_import=chosen.import_id)
    elif chosen.source:
        found = found.filter(source=chosen.source)
    if chosen.since is not None:
        found = found.filter(created_at__gte=_start_of(chosen.since))
    if chosen.until is not None and chosen.until < date.max:
        found = found.filter(created_at__lt=_start_of(chosen.until + timedelta(days=1)))
    if chosen.text:
        at_start = found.filter(email_key__startswith=in_ascii(chosen.text))
        if chosen.is_prefix or ("@" in chosen.text[1:] and at_start.exists()):
            return at_start
        found = found.alias(searched=_SEARCHED)
        anywhere = Q(searched__contains=Lower(Value(chosen.text)))
        if not chosen.text.isascii():
            anywhere |= Q(searched__contains=in_ascii(chosen.text))
        found = found.filter(anywhere)
    return found


def _start_of(day: date) -> datetime:
    return datetime.combine(day, time.min, Newsletter.objects.get_current().zone)

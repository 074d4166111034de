"""The orders of the list of readers.

Each order has an index, so a page reads few rows, however long the list is.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.db.models import Func, QuerySet
from django.db.models.functions import Lower

from subscribers.models import Subscriber

_NAME = "sorted_name"


class Order(NamedTuple):
    """An order by a column; readers with the same value are in the order of their ids."""

    column: str
    is_down: bool = False

    @property
    def is_unique(self) -> bool:
        return self.column in ("id", "email_key")


# By the value of the parameter `sort` in the list's URL.
NEWEST = ""
ORDERS: Mapping[str, Order] = {
    NEWEST: Order("id", is_down=True),
    "oldest": Order("id"),
    "address": Order("email_key"),
    "address-down": Order("email_key", is_down=True),
    "name": Order(_NAME),
    "name-down": Order(_NAME, is_down=True),
    "state": Order("state"),
    "state-down": Order("state", is_down=True),
}


class Place(NamedTuple):
    """The last reader on the previous page, and the state that this page showed.

    The reader's state can change while an author turns the pages.
    """

    reader: int
    state: str = ""


def in_order(
    readers: QuerySet[Subscriber], sort: str, after: Place | None = None, *, is_filtered: bool
) -> Iterator[QuerySet[Subscriber]]:
    """Return the readers after a place as querysets, whose rows follow one another.

    In both directions, readers without a name come after the readers with a name.
    """
    order = ORDERS[sort]
    key = None if after is None else _key(order, after)
    if after is not None and key is None:  # the last reader was erased
        return
    if order.column != _NAME:
        yield from _rows(readers, order, key, after)
        return
    # If no name matches the filters, reading the index of names would read all readers. So a list
    # with filters is found first and then sorted: PostgreSQL cannot use the index for this
    # expression.
    name = Func(Lower("name"), template="(%(expressions)s || '')") if is_filtered else Lower("name")
    readers = readers.alias(**{_NAME: name})
    if after is None or key:
        yield from _rows(readers.filter(**{f"{_NAME}__gt": ""}), order, key, after)
        after = None
    by_id = order._replace(column="id")
    yield from _rows(readers.filter(**{_NAME: ""}), by_id, after and after.reader, after)


def _key(order: Order, after: Place) -> Any:
    """Return the value by which the last reader is sorted; None if they were erased."""
    if order.column == "id":
        return after.reader
    if order.column == "state" and after.state:
        return after.state
    found = Subscriber.objects.annotate(**{_NAME: Lower("name")}).filter(pk=after.reader)
    return found.values_list(order.column, flat=True).first()


def _rows(
    readers: QuerySet[Subscriber], order: Order, key: Any, after: Place | None
) -> Iterator[QuerySet[Subscriber]]:
    sign, beyond = ("-", "lt") if order.is_down else ("", "gt")
    if after is not None:
        if not order.is_unique:
            # PostgreSQL would misjudge a comparison of two columns at once, and read all readers.
            same = readers.filter(**{order.column: key, f"id__{beyond}": after.reader})
            yield same.order_by(f"{sign}id")
        readers = readers.filter(**{f"{order.column}__{beyond}": key})
    columns = [order.column] if order.is_unique else [order.column, "id"]
    yield readers.order_by(*(f"{sign}{column}" for column in columns))

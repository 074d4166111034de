"""Queries that select and count the readers who get an issue."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection, transaction
from django.db.models import (
    Count,
    Exists,
    F,
    Func,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from delivery.plan_methods import NESTED_LOOPS, plan_without
from delivery.reader_fields import FIELD_NAMES
from subscribers.models import Subscriber, Suppression


@contextmanager
def _only_hash_joins() -> Iterator[None]:
    with (
        transaction.atomic(savepoint=False),
        connection.cursor() as cursor,
        plan_without(cursor, NESTED_LOOPS),
    ):
        yield


class Audience(QuerySet[Subscriber]):
    """The query of the readers who get an issue. Its `count` uses only hash joins."""

    def count(self) -> int:
        with _only_hash_joins():
            return super().count()


def values_of(keys: Sequence[str]) -> Func:
    """Select an array: a reader's values of the author's fields with these keys."""
    values = map(_value_of, keys)
    return Func(*values, template="ARRAY[%(expressions)s]", output_field=ArrayField(TextField()))


def _value_of(key: str) -> Coalesce:
    return Coalesce(KeyTextTransform(key, "fields"), Value(""), output_field=TextField())


def confirmed(
    fields: Sequence[str] = (),
    /,
    *,
    with_tags: Sequence[int] = (),
    without_tags: Sequence[int] = (),
) -> QuerySet[Subscriber, tuple[Any, ...]]:
    """Select confirmed, unsuppressed readers as unordered (id, email, *reader fields).

    If `fields` has keys of the author's own fields, one more column has the values of these fields.
    If `with_tags` are given, only readers with at least one of these tags are selected. Readers
    with any of `without_tags` are never selected.
    """
    suppressed = Suppression.objects.filter(address_key=OuterRef("email_key"), lifted_at=None)
    readers = Audience(Subscriber).filter(~Exists(suppressed), state=Subscriber.State.CONFIRMED)
    if with_tags:
        readers = readers.filter(tags__overlap=list(with_tags))
    if without_tags:
        readers = readers.exclude(tags__overlap=list(without_tags))
    columns = ("id", "email", *FIELD_NAMES)
    rows = readers.order_by()
    return rows.values_list(*columns, values_of(fields)) if fields else rows.values_list(*columns)


def count_by_tag() -> dict[int, int]:
    """Count the confirmed, unsuppressed readers of each tag that has any, in one scan."""
    each = Func(F("tags"), function="unnest", output_field=IntegerField())
    with _only_hash_joins():
        return dict(confirmed().annotate(tag=each).values_list("tag").annotate(Count("id")))


def count_without_value(fields: Sequence[str], **tags: Sequence[int]) -> dict[str, int]:
    """Count the confirmed readers without a value, for all these fields in one query."""
    any_value = ""  # every value matches this pattern
    found = count_unfit_values([(name, any_value) for name in fields], **tags)
    return {name: without for (name, _), (_unfit, without) in found.items()}


def count_unfit_values(
    patterns: Iterable[tuple[str, str]], **tags: Sequence[int]
) -> dict[tuple[str, str], tuple[int, int]]:
    """For each field, count the readers with an unfit value and those without a value.

    One query counts the readers for all fields. `patterns` are pairs of a field and a regular
    expression. A value is unfit if it does not match the expression.
    """
    wanted = [*patterns]
    if not wanted:
        return {}
    readers = confirmed(**tags)
    counts = {}
    for number, (name, pattern) in enumerate(wanted):
        value = f"value_{number}"
        is_column = name in (*FIELD_NAMES, "email")
        readers = readers.alias(**{value: F(name) if is_column else _value_of(name)})
        is_empty, fits = Q(**{value: ""}), Q(**{f"{value}__regex": pattern})
        counts[f"unfit_{number}"] = Count("id", filter=~is_empty & ~fits)
        counts[f"empty_{number}"] = Count("id", filter=is_empty)
    found = readers.aggregate(**counts)
    return {
        one: (found[f"unfit_{number}"], found[f"empty_{number}"])
        for number, one in enumerate(wanted)
    }

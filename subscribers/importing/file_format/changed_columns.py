"""Columns whose use Homing changed, or could not honour, and why. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

NOT_ADDRESS = "not_address"  # it has addresses too, but another column is the address
SECOND = "second"  # its header names something that another column is read as
REPLACED = "replaced"  # it was read as something until another column was mapped to that
TAKEN_UP = "taken_up"  # it is read as something since another column was mapped away
ONLY_IF_EMPTY = "only_if_empty"  # its date counts only if the other columns have none

Uses = Mapping[int, Collection[str]]  # what each column is read as


class Change(NamedTuple):
    """A column, from 0, its lost or new use, and the columns that are read instead."""

    column: int
    code: str
    field: str
    instead: Sequence[int]


def changes_of_mapping(
    before: Uses, now: Uses, mapped: Collection[int], columns_of: Mapping[str, Sequence[int]]
) -> Iterator[Change]:
    """Compare the uses of unmapped columns with those before the mapping."""
    for column in sorted({*before, *now} - set(mapped)):
        was, is_now = before.get(column, ()), now.get(column, ())
        for field in was:
            if field not in is_now:
                yield Change(column, REPLACED, field, columns_of.get(field, ()))
        for field in is_now:
            if field not in was:
                yield Change(column, TAKEN_UP, field, ())


def second_columns(
    named: Mapping[int, str], now: Uses, columns_of: Mapping[str, Sequence[int]]
) -> Iterator[Change]:
    """Find unused columns whose header names what another column is read as."""
    for column, field in named.items():
        instead = columns_of.get(field, ())
        if not now.get(column) and instead:
            yield Change(column, SECOND, field, instead)


def dates_by_hand(columns: Sequence[int], field: str) -> Iterator[Change]:
    """List the columns of dates that count only if the first ones are empty."""
    for at, column in enumerate(columns[1:], 1):
        yield Change(column, ONLY_IF_EMPTY, field, columns[:at])

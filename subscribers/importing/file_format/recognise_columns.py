"""Find the delimiter, and the columns of address, fields, status, tags and date.

A manual mapping, the words of the header, or the values in sample rows show the use of a column.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as Map
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Self

from django.utils.translation import gettext_noop

from delivery.control_characters import strip_invisible
from delivery.reader_fields import NAME, READER_FIELDS, ReaderField
from subscribers.importing.file_format import header_words, status_columns
from subscribers.importing.file_format.header_words import key, keys
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.split_records import BadRow
from subscribers.importing.file_format.split_records import records as read_records
from subscribers.importing.file_format.status_columns import (
    SILENT,
    StatusRule,
    rule_by_values,
    rule_of,
)
from subscribers.importing.file_format.tag_cell import read_tags
from subscribers.importing.file_format.yes_or_no import TAG, TagColumn, tag_column

DELIMITERS = {
    ",": gettext_noop("commas"),
    ";": gettext_noop("semicolons"),
    "\t": gettext_noop("tabs"),
    "|": gettext_noop("vertical bars"),
}
_STATED = "sep="  # Excel writes this line before the header
_ADDRESS = re.compile(r"[^\s@<>,;|\"]+@[^\s@<>,;|\"]+\.[^\s@<>,;|\".]+")
_LIKE_AN_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+")
_IN_BRACKETS = re.compile(r"[^@<>]*<([^<>]*)>")
MAX_ROWS_ABOVE_HEADER = 10  # spreadsheets may have titles and dates above the header
_MOSTLY = 0.6  # in a column of names, at least this share of values is names
_NUMBER = re.compile(r"(?:column )?([0-9]{1,5})", re.IGNORECASE)
_SHOWN, _MAX_SHOWN = 60, 12  # characters and columns that an error shows
# with this number of rows or more, a column of equal values is no column of names
_MANY_ROWS = 5

Record = tuple[int, list[str]]
Rows = Sequence[list[str]]
# A manual mapping: pairs of a column and a field. A mapping has a column's name, or its number
# counted from 1.
Mapping = tuple[tuple[str, str], ...]
Fields = Sequence[ReaderField]  # the name first, then the author's own fields
EMAIL, STATUS, IGNORED = "email", "status", "-"
TAGS, LEFT_TOPICS, SINCE, CONSENT = OTHERS = ("tags", "left_topics", "since", "consent")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file was read, so that its rejected rows are read in the same way.

    Columns are numbered from 0. If an attribute is None, it is unknown; the rejected rows show its
    value.
    """

    header: Sequence[str]  # the header above the rejected rows, without empty cells at its end
    width: int
    said: str  # what the file's name says about the status
    address: int | None = None
    names: Sequence[int] | None = None
    statuses: Sequence[int] | None = None  # columns that may hold statuses
    forms: Map[str, Sequence[str | None]] | None = None  # forms of dates by column
    is_guess: bool = False  # true if the original file is unknown; then no row is “subscribed”

    @classmethod
    def from_json(cls, stored: Map[str, Any] | None) -> Self | None:
        """Load a stored reading; unknown keys of other releases are ignored."""
        known = {one.name for one in dataclass_fields(cls)}
        return cls(**{key: stored[key] for key in known & stored.keys()}) if stored else None


class SecondColumn(NamedTuple):
    """A column that is ignored because the columns `instead` are read as `field`.

    Columns are counted from 0.
    """

    column: int
    field: str
    instead: Sequence[int]


class Layout(NamedTuple):
    """The columns of a file, counted from 0; `header_line` is 0 without a header."""

    header_line: int
    header: list[str]
    width: int
    address: int
    fields: Map[str, tuple[int, ...]]  # the columns of each field, by the field's name
    status: StatusRule | None
    others: Map[str, tuple[int, ...]]  # columns by the words of `OTHERS`
    tags: tuple[TagColumn, ...]  # columns that say who has a tag
    seconds: tuple[SecondColumn, ...] = ()
    statuses: tuple[int, ...] = ()  # columns that may hold statuses

    @property
    def columns_of(self) -> dict[str, tuple[int, ...]]:
        """Map each use, such as a tag, to the columns with this use."""
        tags: dict[str, tuple[int, ...]] = {}
        for one in self.tags:
            if one.is_chosen:
                use = f"{TAG}{one.tag}"
                tags[use] = (*tags.get(use, ()), one.column)
        return {
            EMAIL: (self.address,),
            **self.fields,
            STATUS: self.status.columns if self.status else (),
            **self.others,
            **tags,
        }

    def values_in(self, row: Sequence[str]) -> tuple[str, ...]:
        return tuple(
            " ".join(part for column in columns if column < len(row) and (part := row[column]))
            for columns in self.fields.values()
        )


def _values(rows: Rows, column: int) -> list[str]:
    """Return the values of a column that are not empty."""
    return [value for row in rows if column < len(row) and (value := row[column].strip())]


def _addresses(rows: Rows, column: int) -> int:
    return sum(map(looks_like_address, _values(rows, column)))


def looks_like_address(text: str) -> bool:
    """Return whether the text has the form of an address, valid or not."""
    text = strip_invisible(text)
    if bracketed := _IN_BRACKETS.fullmatch(text):
        text = strip_invisible(bracketed[1])
    return _ADDRESS.fullmatch(text) is not None


def stated_delimiter(first_line: str) -> str | None:
    """Return the delimiter that the first line states, as in `sep=;`, or None."""
    line = first_line.rstrip("\r\n").strip('"')
    delimiter = line[len(_STATED) :]
    return delimiter if line.lower().startswith(_STATED) and delimiter in DELIMITERS else None


def detect_delimiter(sample: Sequence[str]) -> str:
    """Choose the delimiter that yields the most addresses and known column names."""

    def score(delimiter: str) -> int:
        found = read_records(iter(sample), delimiter)
        rows = [row[1] for row in found if not isinstance(row, BadRow)]
        addresses = sum(any(map(looks_like_address, fields)) for fields in rows)
        top = chain.from_iterable(rows[: MAX_ROWS_ABOVE_HEADER + 1])
        return addresses + sum(header_words.is_known(key(field)) for field in top)

    return max(DELIMITERS, key=score)


def targets(fields: Fields) -> tuple[str, ...]:
    """Return the possible uses of a column (targets of a mapping), without `IGNORED`."""
    return (EMAIL, *(field.name for field in fields), STATUS, *OTHERS)


def read_target(field: str, fields: Fields) -> str:
    """Return the target that an option names; empty for an unknown target."""
    field = field.strip()
    if field.lower().startswith(TAG):
        names = read_tags(json.dumps([field[len(TAG) :]]))
        return f"{TAG}{names[0]}" if isinstance(names, tuple) and names else ""
    field = field.lower()
    return field if field in (*targets(fields), IGNORED) else ""


def with_other_meaning(names: Iterable[str]) -> set[str]:
    """Return the author's keys that would mean something else as a column's header.

    Exports write such a key as `fields.KEY`, so that an import cannot mistake the field for a
    status.
    """
    ours = frozenset[str]().union(*header_words.SINCE, *chain(*header_words.OTHERS.values()))
    return {
        name
        for name in names
        if (word := key(name)) in ours
        or header_words.is_known(word)
        or status_columns.is_known(word)
    }


def own_fields_in(mapping: Mapping) -> set[str]:
    """Return the keys of the author's own fields in a mapping."""
    read_as = {to for _, to in mapping if not to.startswith(TAG)}
    return read_as - {EMAIL, NAME.name, STATUS, *OTHERS, IGNORED}


def read_column_number(name: str) -> int | None:
    """Return the number in a name such as “column 3” or “3”; None for other names."""
    number = _NUMBER.fullmatch(name)
    return int(number[1]) if number else None


def read_mapping(options: Sequence[str], fields: Fields) -> Mapping:
    """Read options COLUMN=FIELD, and return them in the order of the fields.

    Raises `UnreadableFileError`.
    """
    mapping: dict[str, str] = {}
    for option in options:
        column, equals, field = option.rpartition("=")
        field = read_target(field, fields)
        if not equals or not field:
            choices = ", ".join(f"COLUMN={name}" for name in (*targets(fields), f"{TAG}NAME"))
            raise UnreadableFileError("map_not_readable", option=option, fields=choices)
        if mapping.setdefault(column.strip(), field) != field:
            raise UnreadableFileError("map_twice", column=column)
    if list(mapping.values()).count(EMAIL) > 1:
        raise UnreadableFileError("map_two_addresses")
    return tuple(sorted(mapping.items(), key=lambda pair: pair[1]))


def layout_of(
    records: Sequence[Record],
    mapping: Mapping = (),
    filename: str = "",
    fields: Fields = READER_FIELDS,
    reading: Reading | None = None,
) -> Layout | None:
    """Find a file's layout by its first rows; None if no column has addresses.

    `fields` are the reader's name and the author's fields. A header names a field by its key or its
    label. If the `reading` of an earlier file is given, the `records` are the header and the
    rejected rows of that earlier file.

    Raises `UnreadableFileError` if `mapping` names an unknown column.
    """
    at = 0 if reading else _header_at(records, mapping)
    header = records[at][1] if at is not None else []
    # If no header was recognised, a first row without addresses may be a header with unknown words.
    first = records[0][1] if records and not any(map(looks_like_address, records[0][1])) else []
    sample = [fields for _, fields in records[0 if at is None else at + 1 :]]
    # For rejected rows, use the width of the original file: if all rejected rows are too long,
    # their length does not show the number of columns.
    width = reading.width if reading else _width_of_rows(header, sample)
    mapped = _mapped_columns(mapping, header or first, width)
    by_hand = {field: [at for at, to in mapped if to == field] for _, field in mapped}
    taken = {column for column, _ in mapped}
    # A column that is mapped as the address needs no header and no valid addresses.
    words = ["" if at in taken else field for at, field in enumerate(header)]
    if EMAIL in by_hand:
        address: int | None = max(by_hand[EMAIL], key=lambda column: _addresses(sample, column))
    elif reading and reading.address is not None and reading.address not in taken:
        address = reading.address
    else:
        address = _address_column(words, width, sample, taken)
    if address is None:
        return None
    readers = [row for row in sample if address < len(row) and looks_like_address(row[address])]
    status_like = {at for at in range(width) if status_columns.are_statuses(_values(readers, at))}
    if reading and reading.statuses is not None:
        status_like = set(reading.statuses)
    status_like -= {address}
    names = _name_columns(words, address, sample) if header else ()
    if reading and reading.names is not None:
        names = tuple(at for at in reading.names if at not in taken and at != address)
    if not header:
        names = _column_of_words(width, sample, taken | status_like | {address})
    if NAME.name in by_hand:
        in_order = [*_name_columns(header, address, sample), *by_hand[NAME.name]]
        names = tuple(sorted(by_hand[NAME.name], key=in_order.index))
    statuses = by_hand.get(STATUS, [])
    never = set[int]()
    if reading and reading.statuses is not None:
        never = set(range(width)).difference(reading.statuses, statuses)
    not_status = (taken - set(statuses)).union({address}, names, never)
    values = partial(_values, sample)
    name = reading.said if reading else filename
    rule = rule_of(header, values, name, statuses, not_status)
    unmapped = rule_of(header, values, name, (), {address} | never) if taken else None
    may_be = status_like.union(*(one.columns for one in (rule, unmapped) if one))
    by_values = {at: status_columns.column_name(header, at) for at in sorted(status_like)}
    if rule is None and status_like - not_status:
        free = {at: name for at, name in by_values.items() if at not in not_status}
        rule = rule_by_values(free)
    elif rule is None and (status_like & taken or unmapped):
        rule = SILENT
    if rule is not None:
        # Homing only warns about a column that looks like a column of statuses but has another
        # mapping or an unknown header.
        mapped_away = [one for one in (unmapped or rule).status_columns if one.column in taken]
        like = rule_by_values(by_values).status_columns if not rule.product else ()
        doubts = {one.column: one for one in (*like, *mapped_away)}
        read = set(rule.columns) - (taken & not_status)
        left_out = [one for column, one in doubts.items() if column not in read]
        rule = replace(rule, left_out=tuple(left_out))
    if reading and reading.is_guess:
        rule = replace(rule or SILENT, is_doubted=True)
    # A column that is used for the status may also be used for the date of sign-up, but for no
    # other field.
    kept = taken.union({address}, names)
    dated = _first_columns(words, header_words.SINCE, kept)
    # Put the most certain column of dates first, even if the columns were mapped by hand.
    certain = _first_columns(header, header_words.SINCE, set())
    by_hand[SINCE] = sorted(
        by_hand.get(SINCE, ()), key=lambda at: certain.index(at) if at in certain else -1
    )
    others: dict[str, Sequence[int]] = {SINCE: by_hand[SINCE] or dated}
    kept = kept.union(others[SINCE], rule.columns if rule else ())
    found = {NAME.name: names}
    for field in fields:
        if field.name != NAME.name:
            # Look for `fields.KEY` first, because another column of our own export may have the
            # plain key as its name.
            by_word = [keys(f"fields.{field.name}"), keys(field.headers)]
            named = _first_columns(words, by_word, kept)[:1]
            found[field.name] = tuple(by_hand.get(field.name, named))
            kept = kept.union(found[field.name])
    for other in (TAGS, LEFT_TOPICS, CONSENT):
        named = _first_columns(words, header_words.OTHERS[other], kept)
        # If several columns have tags, join them: first the mapped columns, then the columns that
        # the header names.
        others[other] = (*by_hand.get(other, ()), *named)
    kept = kept.union(*others.values())
    chosen = [
        tag_column(column, header, to.removeprefix(TAG))
        for column, to in mapped
        if to.startswith(TAG)
    ]
    offered = [tag_column(column, words) for column in range(len(words)) if column not in kept]
    layout = Layout(
        records[at][0] if at is not None else 0,
        header,
        width,
        address,
        found,
        rule,
        {other: tuple(others[other]) for other in OTHERS} if any(others.values()) else {},
        tuple(one for one in (*chosen, *offered) if one is not None),
        statuses=tuple(sorted(may_be)),
    )
    return layout._replace(seconds=tuple(_second_columns(layout, mapped, fields, sample)))


def _second_columns(
    layout: Layout, mapped: Sequence[tuple[int, str]], fields: Fields, sample: Rows
) -> Iterator[SecondColumn]:
    columns_of = layout.columns_of
    taken = {column for column, _ in mapped}
    rows = sum(1 for row in sample if layout.address < len(row))
    names = header_words.FULL_NAME | header_words.NAME
    names |= header_words.GIVEN_NAME | header_words.FAMILY_NAME
    words = {field.name: keys(f"fields.{field.name}") | keys(field.headers) for field in fields}
    words[NAME.name] |= names
    for at in sorted(set(range(layout.width)).difference(*columns_of.values())):
        word = key(layout.header[at]) if at < len(layout.header) and at not in taken else ""
        has_addresses = at not in taken and 2 * _addresses(sample, at) > rows
        if (at, EMAIL) in mapped or word in header_words.ADDRESS or has_addresses:
            yield SecondColumn(at, EMAIL, (layout.address,))
        else:
            meant = next((name for name, some in words.items() if word in some), "")
            if instead := columns_of.get(meant, ()):
                yield SecondColumn(at, meant, instead)


def _first_columns(
    header: Sequence[str], words: Sequence[frozenset[str]], taken: set[int]
) -> tuple[int, ...]:
    """Find the columns whose headers are among these words, in the order of the words."""
    named = [key(field) for field in header]
    columns = [at for at in range(len(named)) if at not in taken]
    return tuple(at for some in words for at in columns if named[at] in some)


def _mapped_columns(mapping: Mapping, header: Sequence[str], width: int) -> list[tuple[int, str]]:
    """Find mapped columns by name or number; a name maps all columns of this name."""
    keys = [key(field) for field in header]
    found: list[tuple[int, str]] = []
    for name, field in mapping:
        by_name = [at for at, word in enumerate(keys) if word and word == key(name)]
        number = read_column_number(name)
        by_number = [number - 1] if number is not None and 0 < number <= width else []
        # Try a name such as “Column3” first as a name, because spreadsheets write such headers. Try
        # “column 3” first as a number, because Homing writes a column's number in this way.
        columns = by_number or by_name if name.startswith("column ") else by_name or by_number
        if not columns:
            shown = name[:_SHOWN]
            if not header:
                raise UnreadableFileError("map_unknown_number", column=shown, width=width)
            columns_shown = [word.strip()[:_SHOWN] for word in header[:_MAX_SHOWN]]
            raise UnreadableFileError("map_unknown_column", column=shown, columns=columns_shown)
        found += [(column, field) for column in columns]
    return found


def _header_at(records: Sequence[Record], mapping: Mapping) -> int | None:
    """Find the header: the row with the most known header words.

    The search ends at a row with an address, unless this row is a title. A header that is not the
    first row must name a column of addresses or statuses.
    """
    named = {key(name) for name, _ in mapping if read_column_number(name) is None}
    found: list[tuple[int, bool, int]] = []
    top = [fields for _, fields in records[: MAX_ROWS_ABOVE_HEADER + 1]]
    for at, fields in enumerate(top):
        if named and named <= set(map(key, fields)):
            return at
    for at, fields in enumerate(top):
        if any(map(looks_like_address, fields)):
            words = [field.strip() for field in fields if field.strip()]
            if len(words) == 1 and " " in words[0]:
                continue  # the row is a title, such as: Exported by Ada <ada@example.org>
            break
        keys = [key(field) for field in fields]
        status_words = [word for word in keys if status_columns.is_known(word)]
        known = len(status_words) + sum(map(header_words.is_known, set(keys) - set(status_words)))
        names_address = not header_words.ADDRESS.isdisjoint(keys)
        is_plain_first = at == 0 and not any("@" in field for field in fields)
        # A row with a misspelled address is not a header, even if the row has a word for a status.
        says_status = status_words and not any(
            _LIKE_AN_ADDRESS.fullmatch(one.strip()) for one in fields
        )
        if known and (is_plain_first or names_address or says_status):
            found.append((known, names_address, -at))
    return -max(found)[2] if found else None


def _width_of_rows(header: list[str], sample: Rows) -> int:
    """Return the number of columns; a row with more cells is faulty."""
    if not header:
        # Also count empty cells at the end of a row: the last column may be empty in most rows.
        lengths = Counter(map(len, sample))
        return max(lengths, key=lambda length: (lengths[length], length), default=1)
    # If the header does not name the last columns, all rows are longer than the header.
    filled = (max(at for at, field in enumerate(row, 1) if field.strip()) for row in sample)
    return max(len(header), min(filled, default=0))


def _address_column(header: list[str], width: int, sample: Rows, taken: set[int]) -> int | None:
    keys = [key(field) for field in header]
    named = [column for column, word in enumerate(keys) if word in header_words.ADDRESS]
    perhaps = [column for column, word in enumerate(keys) if header_words.may_be_address(word)]
    counts = [0 if column in taken else _addresses(sample, column) for column in range(width)]
    for columns in (named, perhaps, list(range(width))):
        best = max(columns, key=lambda column: counts[column], default=None)
        if best is not None and counts[best]:
            return best
    if named:
        return named[0]
    return perhaps[0] if perhaps and not sample else None


def _name_columns(header: list[str], address: int, sample: Rows) -> tuple[int, ...]:
    full, name, given, family = (
        _first_columns(header, [words], {address})[:1]
        for words in (
            *(header_words.FULL_NAME, header_words.NAME),
            *(header_words.GIVEN_NAME, header_words.FAMILY_NAME),
        )
    )
    halves = given + family
    if full:
        return full
    if name and len(halves) == 1:
        # With the columns “Nom, Prénom”, “Nom” is only the last name, unless its cells also contain
        # the first name.
        if _holds(sample, name[0], halves[0]):
            return name
        return halves + name if given else name + halves
    return halves or name


def _holds(sample: Rows, whole: int, part: int) -> bool:
    return any(
        set(row[part].split()) < set(row[whole].split())
        for row in sample
        if max(whole, part) < len(row) and row[part].strip()
    )


def _column_of_words(width: int, sample: Rows, taken: set[int]) -> tuple[int, ...]:
    def variety(column: int) -> int:
        values = _values(sample, column)
        words = [value for value in values if _is_words(value)]
        different = len(set(words))
        if len(words) < _MOSTLY * len(values) or (len(words) >= _MANY_ROWS and different == 1):
            return 0
        return different

    free = (column for column in range(width) if column not in taken)
    best = max(free, key=variety, default=None)
    return () if best is None or not variety(best) else (best,)


def _is_words(text: str) -> bool:
    """Return whether a text has letters, and only characters that occur in names."""
    return any(map(str.isalpha, text)) and not any(
        character in "@:/\\=_" or unicodedata.category(character) == "Nd" for character in text
    )

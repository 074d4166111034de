"""Columns that say which readers get a tag, such as “paid”."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from subscribers.importing.file_format.date_cell import latest_date
from subscribers.importing.file_format.header_words import key, keys
from subscribers.importing.file_format.status_columns import NO, YES

TAG = "tag:"  # the prefix of a use that is a tag; the tag's name follows
PAID, COMPLIMENTARY = "paid", "complimentary"
# The page offers to read columns with these headers as tags. A column becomes a tag only if the
# author chooses it.
_OFFERED = {
    PAID: keys(
        "active subscription, stripe customer id, stripe plan, tier, paid, is paid, premium"
    ),
    COMPLIMENTARY: keys("complimentary plan, complimentary, is complimentary"),
}
_NO = frozenset(map(key, NO)) | keys(
    "free, none, null, never, inactive, unpaid, expired, canceled, cancelled"
)
_YES = frozenset(map(key, YES))
# A header that contains one of these texts names a column of end dates.
_ENDS = ("expir", "until", "enddate", "endsat")


class Answer(StrEnum):
    """The kinds of answers that a cell gives about a tag."""

    YES = "yes"
    NO = "no"
    EMPTY = "empty"
    DATE = "date"  # a date on which something began, or will end
    PAST = "past"  # a date on which something ended
    TEXT = "text"  # any other text, such as the name of a plan

    @property
    def has_tag(self) -> bool:
        return self in (Answer.YES, Answer.DATE, Answer.TEXT)


class TagColumn(NamedTuple):
    """A column that says whether a reader has a tag. Columns are counted from 0.

    If `is_chosen` is false, the page only offers the tag.
    """

    column: int
    tag: str
    ends: bool = False
    is_chosen: bool = True

    def read(self, row: Sequence[str]) -> Answer:
        """Return what a row says about the tag."""
        value = row[self.column].strip() if self.column < len(row) else ""
        word = key(value)
        if not word:
            return Answer.EMPTY
        if word in _NO or word in _YES:
            return Answer.NO if word in _NO else Answer.YES
        if (date := latest_date(value)) is None:
            return Answer.TEXT
        return Answer.PAST if self.ends and date < datetime.now(UTC) else Answer.DATE


def tag_column(column: int, header: Sequence[str], tag: str = "") -> TagColumn | None:
    """Return a `TagColumn` with `tag`, or else with an offered tag, or else None."""
    word = key(header[column]) if column < len(header) else ""
    ends = any(part in word for part in _ENDS)
    if tag:
        return TagColumn(column, tag, ends)
    offered = (one for one, words in _OFFERED.items() if word in words)
    found = next(offered, "")
    return TagColumn(column, found, ends, is_chosen=False) if found else None

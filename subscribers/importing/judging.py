"""Whether a row names a reader who can be mailed. Pure: it does not know who is on the list."""

from __future__ import annotations

from typing import NamedTuple

from subscribers.address import Refusal, read_address
from subscribers.importing.reading import BadRow, Row, excerpt
from subscribers.importing.report import LeftOut
from subscribers.name import read_name


class Candidate(NamedTuple):
    """A row that may go onto the list."""

    line: int
    email: str
    name: str


def judge(row: Row | BadRow) -> Candidate | LeftOut:
    """The reader that a row names, or why it is rejected."""
    if isinstance(row, BadRow):
        return LeftOut.rejected(row.line, row.excerpt, row.reason)
    address = read_address(row.email)
    if isinstance(address, Refusal):
        return LeftOut.rejected(row.line, excerpt(row.email), address.reason)
    name = read_name(row.name)
    if isinstance(name, Refusal):
        return LeftOut.rejected(row.line, address.email, name.reason)
    return Candidate(row.line, address.email, name)

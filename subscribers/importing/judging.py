"""Whether a row names a reader who can be mailed. Pure: it does not know who is on the list."""

from __future__ import annotations

import re
from typing import NamedTuple

from subscribers.address import Refusal, read_address
from subscribers.importing.reading import BadRow, Row, excerpt
from subscribers.importing.report import LeftOut
from subscribers.name import read_name

# As mail programs copy an address: `Ada Whitlock <ada@example.org>`, `mailto:ada@example.org`.
_AS_COPIED = re.compile(r"\s*(?:([^@<>]*)<)?\s*(?:mailto:)?([^\s<>]+)\s*>?\s*", re.IGNORECASE)


class Candidate(NamedTuple):
    """A row that may go onto the list."""

    line: int
    email: str
    name: str


def judge(row: Row | BadRow) -> Candidate | LeftOut:
    """The reader that a row names, or why it is rejected."""
    if isinstance(row, BadRow):
        return LeftOut.rejected(row.line, row.excerpt, row.reason)
    address, called = read_address(row.email), row.name
    if isinstance(address, Refusal) and (copied := _AS_COPIED.fullmatch(row.email)):
        inside = read_address(copied[2])
        if not isinstance(inside, Refusal):
            address, called = inside, row.name or (copied[1] or "").strip(" \"'")
    if isinstance(address, Refusal):
        return LeftOut.rejected(row.line, excerpt(row.email), address.reason)
    name = read_name(called)
    if isinstance(name, Refusal):
        return LeftOut.rejected(row.line, address.email, name.reason)
    return Candidate(row.line, address.email, name)

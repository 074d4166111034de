"""Whether a row names a reader who can be mailed. Pure: it does not know who is on the list."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from subscribers.address import Refusal, read_address
from subscribers.importing.file_format.read_file import BadRow, Row, excerpt
from subscribers.importing.file_format.status import Stated
from subscribers.models import LeftOutRow
from subscribers.name import read_name

# As mail programs copy an address: `Ada Whitlock <ada@example.org>`, `mailto:ada@example.org`.
_AS_COPIED = re.compile(r"\s*(?:([^@<>]*)<)?\s*(?:mailto:)?([^\s<>]+)\s*>?\s*", re.IGNORECASE)
# A product or a spreadsheet puts an apostrophe before what would run as a formula.
_GUARDED = re.compile(r"\A\s*'(?=[=+\-@\t\r])")
# In place of somebody who had Substack delete them.
_DELETED = "@deletion-request.substack.com"


class Candidate(NamedTuple):
    """A row that may go onto the list, or that says who left."""

    line: int
    email: str
    name: str
    stated: Stated | None = None


def judge(row: Row | BadRow) -> Candidate | LeftOut:
    """The reader that a row names, or why it is rejected."""
    if isinstance(row, BadRow):
        return LeftOut.rejected(row.line, row.excerpt, row.reason)
    email, called = _unguarded(row.email), _unguarded(row.name)
    address = read_address(email)
    if isinstance(address, Refusal) and (copied := _AS_COPIED.fullmatch(email)):
        inside = read_address(copied[2])
        if not isinstance(inside, Refusal):
            address, called = inside, called or (copied[1] or "").strip(" \"'")
    if isinstance(address, Refusal):
        return LeftOut.rejected(row.line, excerpt(row.email), address.reason)
    if address.email.endswith(_DELETED):
        return LeftOut.rejected(row.line, address.email, "Substack deleted this reader's data.")
    if row.stated is not None and row.stated.status.is_gone:
        return Candidate(row.line, address.email, "", row.stated)
    name = read_name(called)
    if isinstance(name, Refusal):
        return LeftOut.rejected(row.line, address.email, name.reason)
    return Candidate(row.line, address.email, name, row.stated)


def _unguarded(text: str) -> str:
    return _GUARDED.sub("", text) if "'" in text else text


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that does not go onto the list. `email`: what stood there, cut when long."""

    line: int
    result: str
    email: str
    reason: str

    @classmethod
    def rejected(cls, line: int, email: str, reason: str) -> LeftOut:
        """A row without a reader that can be mailed."""
        return cls(line, LeftOutRow.Result.REJECTED.value, email, reason)

    @classmethod
    def skipped(cls, line: int, email: str, reason: str) -> LeftOut:
        """A row of somebody whom an import does not bring back."""
        return cls(line, LeftOutRow.Result.SKIPPED.value, email, reason)

    @property
    def is_rejected(self) -> bool:
        """Whether the row itself is at fault."""
        return self.result == LeftOutRow.Result.REJECTED

"""Check whether a row names a reader who can be mailed. Pure."""

import re
from typing import NamedTuple

from delivery.reader_fields import FIELD_NAMES, READER_FIELDS
from subscribers.address import read_address
from subscribers.fields.reader_values import read_value
from subscribers.importing.file_format.read_file import Row
from subscribers.importing.file_format.records import BadRow, excerpt
from subscribers.importing.file_format.status import RowStatus
from subscribers.models import RejectedRow
from subscribers.refusal_sentences import InputRefusal, refuse

# Mail programs copy an address as `Ada Whitlock <ada@example.org>` or `mailto:ada@example.org`.
_AS_COPIED = re.compile(r"\s*(?:([^@<>]*)<)?\s*(?:mailto:)?([^\s<>]+)\s*>?\s*", re.IGNORECASE)
# Products and spreadsheets put an apostrophe before texts that would run as formulas.
_GUARDED = re.compile(r"\A\s*'(?=[=+\-@\t\r])")
# Substack replaces the address of a deleted reader with one in this domain.
_DELETED = "@deletion-request.substack.com"
_NAME_AT = FIELD_NAMES.index("name")
_NO_VALUES = ("",) * len(FIELD_NAMES)


class Candidate(NamedTuple):
    """A row with a valid address. `values` follow `READER_FIELDS`."""

    line: int
    email: str
    values: tuple[str, ...]
    status: RowStatus | None = None


def validate_row(row: Row | BadRow) -> Candidate | RejectedRow:
    """Return the reader of a row, or the rejected row, not stored yet."""
    if isinstance(row, BadRow):
        return excluded(row.line, row.excerpt, row.reason)
    email = _unguarded(row.email)
    texts = [_unguarded(text) for text in row.values]
    address = read_address(email)
    if isinstance(address, InputRefusal) and (copied := _AS_COPIED.fullmatch(email)):
        inside = read_address(copied[2])
        if not isinstance(inside, InputRefusal):
            address = inside
            texts[_NAME_AT] = texts[_NAME_AT] or (copied[1] or "").strip(" \"'")
    if isinstance(address, InputRefusal):
        return excluded(row.line, excerpt(row.email), address)
    if address.endswith(_DELETED):
        return excluded(row.line, address, refuse("substack_deleted"))
    if row.status is not None and row.status.status.is_gone:
        return Candidate(row.line, address, _NO_VALUES, row.status)
    values = []
    for field, text in zip(READER_FIELDS, texts, strict=True):
        value = read_value(field, text)
        if isinstance(value, InputRefusal):
            return excluded(row.line, address, value)
        values.append(value)
    return Candidate(row.line, address, tuple(values), row.status)


def excluded(
    line: int, email: str, reason: InputRefusal, result: str = RejectedRow.Result.REJECTED
) -> RejectedRow:
    """Make a rejected or skipped row, not stored yet."""
    why = {"reason": reason.code, "parameters": dict(reason.parameters)}
    return RejectedRow(line=line, result=result, email=email, **why)


def _unguarded(text: str) -> str:
    return _GUARDED.sub("", text) if "'" in text else text

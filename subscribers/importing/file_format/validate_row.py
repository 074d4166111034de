"""Check whether a row names a reader who can be mailed."""

from typing import Any, NewType

from delivery.reader_fields import READER_FIELDS
from subscribers.address import read_address_cell
from subscribers.fields.reader_values import read_value
from subscribers.files.safe_csv import unguarded
from subscribers.importing.file_format.read_file import Row
from subscribers.importing.file_format.recognise_columns import Fields
from subscribers.importing.file_format.split_lines import LONGEST_LINE
from subscribers.importing.file_format.split_records import BadRow, Cells, excerpt
from subscribers.importing.file_format.tag_cell import read_tags
from subscribers.models import RejectedRow
from subscribers.refusal_sentences import InputRefusal, refuse

# Substack replaces the address of a deleted reader by an address in this domain.
_DELETED = "@deletion-request.substack.com"
_NAME_AT = 0
Candidate = NewType("Candidate", Row)  # a valid row


def validate_row(row: Row | BadRow, fields: Fields = READER_FIELDS) -> Candidate | RejectedRow:
    """Return the row with valid values, or a rejected row that is not stored yet."""
    if isinstance(row, BadRow):
        return excluded(row.line, row.excerpt, row.reason, row.cells)
    texts = [unguarded(text) for text in row.values]
    address, name = read_address_cell(row.email)
    texts[_NAME_AT] = texts[_NAME_AT] or name
    if isinstance(address, InputRefusal):
        return excluded(row.line, excerpt(row.email), address, row.cells)
    if address.endswith(_DELETED):
        return excluded(row.line, address, refuse("substack_deleted"), row.cells)
    if row.status is not None and row.status.status.is_gone:
        return Candidate(Row(row.line, address, ("",) * len(fields), row.status))
    values = []
    for field, text in zip(fields, texts, strict=True):
        value = read_value(field, text)
        if isinstance(value, InputRefusal):
            return excluded(row.line, address, value, row.cells)
        values.append(value)
    names = []
    for cells in (row.tags, row.left_topics):
        found = read_tags(*map(unguarded, cells)) if cells else ()
        if isinstance(found, InputRefusal):
            return excluded(row.line, address, found, row.cells)
        names.append(found)
    tags, left_topics = names
    said = {tag: None for tag, answer, is_chosen in row.answers if is_chosen and answer.has_tag}
    known = set(map(str.lower, tags))
    tags += tuple(tag for tag in said if tag.lower() not in known)
    return Candidate(
        row._replace(email=address, values=tuple(values), tags=tags, left_topics=left_topics)
    )


def excluded(
    line: int,
    email: str,
    reason: InputRefusal,
    cells: Cells = (),
    result: str = RejectedRow.Result.REJECTED,
) -> RejectedRow:
    """Make a rejected or skipped row without storing it.

    If the cells together are longer than the longest allowed line, leave them out.
    """
    why: dict[str, Any] = {"reason": reason.code, "parameters": dict(reason.parameters)}
    if cells and sum(map(len, cells)) <= LONGEST_LINE:
        why["parameters"]["row"] = cells
    return RejectedRow(line=line, result=result, email=email, **why)

"""Check whether a row names a reader who can be mailed. Pure."""

from datetime import datetime
from typing import Any, NamedTuple

from delivery.control_characters import CONTROL_CHARACTERS
from delivery.reader_fields import READER_FIELDS
from subscribers.address import read_address_cell
from subscribers.fields.reader_values import read_value
from subscribers.files.safe_csv import unguarded
from subscribers.importing.file_format.read_file import Others, Row
from subscribers.importing.file_format.recognise_columns import Fields
from subscribers.importing.file_format.split_lines import LONGEST_LINE
from subscribers.importing.file_format.split_records import BadRow, Cells, excerpt
from subscribers.importing.file_format.status_columns import RowStatus
from subscribers.importing.file_format.tag_cell import read_tags
from subscribers.importing.file_format.yes_or_no import Answer
from subscribers.models import RejectedRow
from subscribers.refusal_sentences import InputRefusal, refuse

# Substack replaces the address of a deleted reader with one in this domain.
_DELETED = "@deletion-request.substack.com"
_NAME_AT = 0
LONGEST_CONSENT = 1_000  # characters


class Candidate(NamedTuple):
    """A row with a valid address.

    `values` follow the fields of the file; `since` is in UTC.
    """

    line: int
    email: str
    values: tuple[str, ...]
    status: RowStatus | None = None
    tags: tuple[str, ...] = ()
    left_topics: tuple[str, ...] = ()
    since: datetime | None = None
    lost_date: str = ""
    consent: str = ""
    answers: tuple[tuple[str, Answer, bool], ...] = ()
    cells: Cells = ()


def validate_row(row: Row | BadRow, fields: Fields = READER_FIELDS) -> Candidate | RejectedRow:
    """Return the reader of a row, or a rejected row that is not stored yet."""
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
        return Candidate(row.line, address, ("",) * len(fields), row.status)
    values = []
    for field, text in zip(fields, texts, strict=True):
        value = read_value(field, text)
        if isinstance(value, InputRefusal):
            return excluded(row.line, address, value, row.cells)
        values.append(value)
    reader = Candidate(
        row.line, address, tuple(values), row.status, answers=row.answers, cells=row.cells
    )
    if row.others:
        with_others = _with_others(reader, row.others)
        if isinstance(with_others, RejectedRow):
            return with_others
        reader = with_others
    said = {tag: None for tag, answer, is_chosen in row.answers if is_chosen and answer.has_tag}
    known = set(map(str.lower, reader.tags))
    more = tuple(tag for tag in said if tag.lower() not in known)
    return reader._replace(tags=reader.tags + more) if more else reader


def _with_others(reader: Candidate, others: Others) -> Candidate | RejectedRow:
    tags = read_tags(*map(unguarded, others.tags))
    if isinstance(tags, InputRefusal):
        return excluded(reader.line, reader.email, tags, reader.cells)
    left = read_tags(*map(unguarded, others.left_topics))
    if isinstance(left, InputRefusal):
        return excluded(reader.line, reader.email, left, reader.cells)
    notes = [CONTROL_CHARACTERS.sub(" ", unguarded(note)) for note in others.consent]
    consent = "; ".join(" ".join(note.split()) for note in notes)
    return reader._replace(
        tags=tags,
        left_topics=left,
        since=others.since,
        lost_date=others.lost_date,
        consent=consent[:LONGEST_CONSENT].strip(),
    )


def excluded(
    line: int,
    email: str,
    reason: InputRefusal,
    cells: Cells = (),
    result: str = RejectedRow.Result.REJECTED,
) -> RejectedRow:
    """Make a rejected or skipped row without storing it.

    If the cells are longer than the longest allowed line, they are left out.
    """
    why: dict[str, Any] = {"reason": reason.code, "parameters": dict(reason.parameters)}
    if cells and sum(map(len, cells)) <= LONGEST_LINE:
        why["parameters"]["row"] = cells
    return RejectedRow(line=line, result=result, email=email, **why)

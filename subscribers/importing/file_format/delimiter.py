"""Which character separates the columns of a file."""

from collections.abc import Sequence

from subscribers.importing.file_format.columns import MAX_ROWS_ABOVE_HEADER, looks_like_address
from subscribers.importing.file_format.header_words import is_known, key
from subscribers.importing.file_format.records import BadRow, records

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_STATED = "sep="  # a first line that Excel writes, and reads, before the header


def stated_delimiter(first_line: str) -> str | None:
    """The delimiter that the first line states, as in `sep=;`; None if it states none."""
    line = first_line.rstrip("\r\n").strip('"')
    delimiter = line[len(_STATED) :]
    return delimiter if line.lower().startswith(_STATED) and delimiter in DELIMITERS else None


def detect_delimiter(sample: Sequence[str]) -> str:
    """The delimiter that shows the most addresses and known column names in the sample."""

    def score(delimiter: str) -> int:
        rows = [row[1] for row in records(iter(sample), delimiter) if not isinstance(row, BadRow)]
        addresses = sum(any(map(looks_like_address, fields)) for fields in rows)
        words = sum(
            is_known(key(field)) for fields in rows[: MAX_ROWS_ABOVE_HEADER + 1] for field in fields
        )
        return addresses + words

    return max(DELIMITERS, key=score)

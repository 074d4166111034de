"""Which character separates the fields."""

from collections.abc import Sequence

from subscribers.importing.file_format import header_words
from subscribers.importing.file_format.columns import MOST_ROWS_ABOVE_THE_HEADER, looks_like_address
from subscribers.importing.file_format.records import BadRow, records

WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_STATED = "sep="  # a first line that Excel writes, and reads, before the header


def stated_in(first_line: str) -> str | None:
    """The delimiter that the first line states, as in `sep=;`; None if it states none."""
    line = first_line.rstrip("\r\n").strip('"')
    delimiter = line[len(_STATED) :]
    return delimiter if line.lower().startswith(_STATED) and delimiter in WORDS else None


def delimiter_of(sample: Sequence[str]) -> str:
    """The delimiter that finds the most addresses and known header words in these lines."""

    def score(delimiter: str) -> int:
        rows = [row[1] for row in records(iter(sample), delimiter) if not isinstance(row, BadRow)]
        addresses = sum(any(map(looks_like_address, fields)) for fields in rows)
        words = sum(
            header_words.is_known(header_words.key(field))
            for fields in rows[: MOST_ROWS_ABOVE_THE_HEADER + 1]
            for field in fields
        )
        return addresses + words

    return max(WORDS, key=score)

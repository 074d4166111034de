"""
Arrays as PostgreSQL reads them, written in one go.

The driver writes a list value by value, looking up for each how its type is written; for a batch
that took longer than the statement itself. To be given as a parameter, with a cast: `%s::bigint[]`.
Source: PostgreSQL's documentation, “Array Input and Output Syntax”. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


def of_numbers(numbers: Iterable[int]) -> str:
    """The array of these whole numbers."""
    return f"{{{','.join(map(str, numbers))}}}"


def of_texts(texts: Iterable[str]) -> str:
    """The array of these texts, whatever they hold."""
    # Without quotation marks blanks, commas, braces and the word NULL would be read as syntax.
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    return '{"' + '","'.join(quoted) + '"}' if quoted else "{}"


def of_times(times: Iterable[datetime | None]) -> str:
    """The array of these times, which know their zone; None is NULL."""
    written = ["NULL" if at is None else f'"{at.isoformat()}"' for at in times]
    return f"{{{','.join(written)}}}"

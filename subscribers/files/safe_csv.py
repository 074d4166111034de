"""A line of a CSV file that a person opens in a spreadsheet: the only place that writes one."""

from __future__ import annotations

import csv

# A spreadsheet takes a cell that starts like this for a formula and runs it. An apostrophe in
# front makes it text (OWASP, “CSV Injection”).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class _HandsBack:
    """Takes what a CSV writer writes, and hands it on."""

    def write(self, line: str) -> str:
        return line


def csv_line(*values: object) -> str:
    """These values as a line with its end; no spreadsheet takes a text in it for a formula."""
    line: str = csv.writer(_HandsBack()).writerow([_as_text(value) for value in values])
    return line


def _as_text(value: object) -> object:
    is_formula = isinstance(value, str) and value.startswith(FORMULA_STARTS)
    return f"'{value}" if is_formula else value

"""A line of a CSV file that is safe to open in a spreadsheet."""

import csv

# A spreadsheet runs a cell that starts like this as a formula. An apostrophe in front makes it text
# (OWASP, “CSV Injection”).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class _Echo:
    """A file whose `write` returns the line, so that `writerow` does."""

    def write(self, line: str) -> str:
        return line


def csv_line(*values: object) -> str:
    """These values as a line with its end; texts that start like formulas are escaped."""
    cells = [
        f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
        for value in values
    ]
    line: str = csv.writer(_Echo()).writerow(cells)
    return line

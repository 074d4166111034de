"""A line of a CSV file that is safe to open in a spreadsheet."""

import csv
from io import StringIO

# Spreadsheets run such a cell as a formula; an apostrophe makes it text (OWASP, “CSV Injection”).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_line(*values: object) -> str:
    """These values as a line with its end; texts that start like formulas are escaped."""
    cells = [
        f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
        for value in values
    ]
    line = StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()

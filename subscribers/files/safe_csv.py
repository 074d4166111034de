"""CSV files that are safe to open in a spreadsheet."""

import csv
import re
from collections.abc import Iterable
from datetime import datetime
from io import StringIO

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

# A spreadsheet runs a cell as a formula if the cell starts with one of these characters. An
# apostrophe at the start turns such a cell into text (OWASP, “CSV Injection”).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_GUARDED = re.compile(r"\A\s*'(?=[=+\-@\t\r])")


def csv_line(*values: object) -> str:
    """Return the values as a line of CSV; escape texts that start like formulas.

    Times are written in ISO 8601, to the second.
    """
    line = StringIO()
    csv.writer(line).writerow(map(_cell, values))
    return line.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    is_formula = isinstance(value, str) and value.startswith(FORMULA_STARTS)
    return f"'{value}" if is_formula else value


def unguarded(text: str) -> str:
    """Remove the apostrophe that a product or spreadsheet put before a formula."""
    return _GUARDED.sub("", text) if "'" in text else text


def csv_download(lines: Iterable[str], name: str) -> StreamingHttpResponse:
    """Stream lines as a download that no cache keeps."""
    disposition = content_disposition_header(True, name) or "attachment"
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)

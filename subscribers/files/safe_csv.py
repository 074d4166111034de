"""CSV files that are safe to open in a spreadsheet."""

import csv
from collections.abc import Iterable
from io import StringIO

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

# Spreadsheets run these cells as formulas. An apostrophe makes them text (OWASP, “CSV
# Injection”).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_line(*values: object) -> str:
    """Write the values as a line; escape texts that start like formulas."""
    cells = [
        f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
        for value in values
    ]
    line = StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def csv_download(lines: Iterable[str], name: str) -> StreamingHttpResponse:
    """Stream lines as a download that no cache keeps."""
    disposition = content_disposition_header(True, name) or "attachment"
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)

"""Rejected and skipped rows of imported files that contain a reader's address."""

import re
from typing import Any

from django.db import connection

from subscribers.address import read_address_cell, spellings
from subscribers.models import RejectedRow

# This SQL condition is true if the text contains the address, in either spelling of an
# international domain.
_HOLDS = """
    EXISTS (SELECT FROM unnest(%(spellings)s::text[]) AS _ (spelling)
             WHERE strpos(lower({text}), spelling) > 0)
"""
_BETWEEN_CELLS = re.compile(r"[,;\t|\"]")


def load_rejected_rows(key: str) -> list[dict[str, Any]]:
    """Load the stored rows that contain this address and no other address.

    A row with other addresses may be about another reader.
    """
    holds = _HOLDS.format(text="concat_ws(' ', email, parameters::text)")
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM rejected_row WHERE {holds}",  # noqa: S608 -- our own words
            {"spellings": spellings(key)},
        )
        ids = [row[0] for row in cursor.fetchall()]
    rows = RejectedRow.objects.filter(id__in=ids).select_related("subscriber_import")
    return [
        {
            "at": row.subscriber_import.requested_at,
            "file": row.subscriber_import.filename,
            "line": row.line,
            "reason": row.reason,
            "parameters": {key: row.parameters[key] for key in row.parameters if key != "row"},
            "row": _cells(row),
        }
        for row in rows.order_by("id")
        if _is_about(row, key)
    ]


def forget_in_imports(key: str) -> None:
    """Delete an address from imports, with the rows and examples that contain it."""
    read_as = _HOLDS.format(
        text="concat("
        + ", ".join(f"read_as ->> '{name}'" for name in ("examples", "lost", "columns"))
        + ")"
    )
    row = _HOLDS.format(text="concat_ws(' ', email, parameters::text)")
    values = {"spellings": spellings(key)}
    # Lock the import before its rows, in the same order as code that discards or restarts an
    # import.
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE subscriber_import
               SET read_as = read_as || jsonb_build_object(
                   'examples', '[]'::jsonb, 'lost', '[]'::jsonb, 'columns', coalesce(
                       (SELECT jsonb_agg(jsonb_set(one, '{{2}}', '[]') ORDER BY at)
                          FROM jsonb_array_elements(read_as -> 'columns')
                               WITH ORDINALITY AS _ (one, at)), '[]'))
             WHERE {read_as}
            """,  # noqa: S608 -- our own words
            values,
        )
        cursor.execute(
            f"""
            UPDATE rejected_row
               SET email = '', parameters = coalesce(
                   (SELECT jsonb_object_agg(
                               name, CASE WHEN {_HOLDS.format(text="value::text")}
                                          THEN '"…"' ELSE value END)
                      FROM jsonb_each(parameters) AS _ (name, value) WHERE name <> 'row'), '{{}}')
             WHERE {row}
            """,  # noqa: S608 -- our own words
            values,
        )


def _cells(row: RejectedRow) -> list[str]:
    """Return the cells of a row, or its text if it could not be split."""
    cells = row.parameters.get("row") or row.email
    return [cells] if isinstance(cells, str) else cells


def _is_about(row: RejectedRow, key: str) -> bool:
    cells = _cells(row)
    parts = _BETWEEN_CELLS.split(cells[0]) if len(cells) == 1 else cells
    found = [read_address_cell(part)[0] for part in parts if "@" in part]
    return bool(found) and all(str(address).lower() == key for address in found)

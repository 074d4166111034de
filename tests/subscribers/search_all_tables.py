"""Search every column of every table for a text."""

from django.db import connection


def tables_that_hold(text: str) -> list[str]:
    """List the tables that contain `text` in any letter case, or as bytes."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(
                f"""
                SELECT EXISTS (SELECT FROM "{table}" AS looked_at
                               WHERE strpos(lower(looked_at::text), lower(%s)) > 0
                                  OR strpos(looked_at::text, %s) > 0)
                """,
                [text, text.encode().hex()],
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return found

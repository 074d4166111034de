"""Delete images that no letter has used for a number of days."""

from collections.abc import Iterator
from uuid import UUID

from django.db import connection

from delivery.retention.batched_delete import short_delete

# Each image can be up to 2 MB.
AT_ONCE = 20

# Every UUID counts as an image id. Editions include tests and versions that were called back.
_IN_USE = """
    SELECT DISTINCT lower(found[1])::uuid FROM (
        SELECT letter FROM draft UNION ALL SELECT text FROM draft
        UNION ALL SELECT html_content FROM edition UNION ALL SELECT text_content FROM edition
        UNION ALL SELECT html_mail FROM edition UNION ALL SELECT logo FROM newsletter
        UNION ALL SELECT text FROM snippet
    ) AS written (words), LATERAL regexp_matches(
        words, '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})', 'gi'
    ) AS found
"""

_IS_OLD = "unused_since < clock_timestamp() - make_interval(secs => %s)"


def count_unused(days: float) -> int:
    """Count the images that were unused for that many days. Reads every letter."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM uploaded_image WHERE {_IS_OLD} AND id <> ALL(%s)",  # noqa: S608
            [days * 86400, _load_ids_in_use()],
        )
        return int(cursor.fetchone()[0])


def delete_unused(days: float) -> Iterator[int]:
    """Mark unused images, and delete those that were unused for that many days."""
    mark_unused()
    yield 0
    while True:
        with short_delete() as cursor:
            cursor.execute(
                f"""
                DELETE FROM uploaded_image WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM uploaded_image WHERE {_IS_OLD}
                    LIMIT %s FOR UPDATE SKIP LOCKED))
                """,  # noqa: S608 -- a constant
                [days * 86400, AT_ONCE],
            )
            deleted = int(cursor.rowcount)
        yield deleted
        if deleted < AT_ONCE:
            return


def mark_unused() -> None:
    """Mark the images that no letter uses now, and clear the mark of the others."""
    in_use = _load_ids_in_use()
    with short_delete() as cursor:
        # Concurrent runs lock the rows in the same order, so they cannot deadlock. The lock waits
        # for concurrent uploads, so every deleted image has a current mark.
        cursor.execute(
            """
            UPDATE uploaded_image AS image
               SET unused_since = CASE WHEN image.unused_since IS NULL THEN clock_timestamp() END
              FROM (SELECT id FROM uploaded_image WHERE (id = ANY(%s)) = (unused_since IS NOT NULL)
                    ORDER BY id FOR NO KEY UPDATE) AS changed
             WHERE image.id = changed.id
            """,
            [in_use],
        )


def _load_ids_in_use() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_IN_USE)
        return [row[0] for row in cursor.fetchall()]

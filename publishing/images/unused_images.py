"""
Pictures that no letter shows: since when, and which go. The only place that deletes pictures.

Each look puts down which picture is in no draft, no edition and no form that is kept, and since
when; the mark goes when it is in one again, or when its file is uploaded again. So what may go was
found unused at every look for all that time, and somebody who is just putting a picture in has
as long from the upload on. Nobody is locked out for it: words that name a picture after it went are
like words that name one which there never was.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.db import connection

from delivery.retention.batched_delete import short_delete

# Each may be two megabytes.
AT_ONCE = 20

# Whatever looks like the id of a picture counts, however its address is written. Editions hold what
# was sent, test letters and versions that were called back too; none but a test letter ever goes.
_IN_USE = """
    SELECT DISTINCT lower(found[1])::uuid FROM (
        SELECT letter FROM draft UNION ALL SELECT text FROM draft
        UNION ALL SELECT html_content FROM edition UNION ALL SELECT text_content FROM edition
    ) AS written (words), LATERAL regexp_matches(
        words, '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})', 'gi'
    ) AS found
"""

_IS_OLD = "unused_since < clock_timestamp() - make_interval(secs => %s)"


def count_unused(days: float) -> int:
    """How many pictures no letter shows, and none has for so many days. Reads every letter."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM uploaded_image WHERE {_IS_OLD} AND id <> ALL(%s)",  # noqa: S608
            [days * 86400, _in_use()],
        )
        return int(cursor.fetchone()[0])


def delete_unused(days: float) -> Iterator[int]:
    """Look which pictures no letter shows, and delete those that none has for so many days."""
    look()
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
            gone = int(cursor.rowcount)
        yield gone
        if gone < AT_ONCE:
            return


def look() -> None:
    """Put down which pictures no letter shows now, and take the mark off those that one does."""
    in_use = _in_use()
    with short_delete() as cursor:
        # In one order, so that two who look at once wait for each other. Whoever uploads the file
        # of one again is waited for, too: without the mark of now nothing goes.
        cursor.execute(
            """
            UPDATE uploaded_image AS image
               SET unused_since = CASE WHEN image.unused_since IS NULL THEN clock_timestamp() END
              FROM (SELECT id FROM uploaded_image WHERE (id = ANY(%s)) = (unused_since IS NOT NULL)
                    ORDER BY id FOR NO KEY UPDATE) AS otherwise
             WHERE image.id = otherwise.id
            """,
            [in_use],
        )


def _in_use() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_IN_USE)
        return [row[0] for row in cursor.fetchall()]

"""Delete images that no letter has used for a number of days."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Now

from delivery.retention.batched_delete import short_delete
from publishing.models import UploadedImage

# The number of images that are deleted in one transaction. Each image can have up to 2 MB.
AT_ONCE = 20

# Every UUID in these texts counts as the id of a used image. The editions include test letters, and
# versions that were called back.
_IN_USE = """
    SELECT DISTINCT lower(found[1])::uuid FROM (
        SELECT letter FROM draft UNION ALL SELECT text FROM draft
        UNION ALL SELECT html_content FROM edition UNION ALL SELECT text_content FROM edition
        UNION ALL SELECT html_mail FROM edition UNION ALL SELECT logo FROM newsletter
        UNION ALL SELECT dark_logo FROM newsletter
        UNION ALL SELECT text FROM snippet
    ) AS written (words), LATERAL regexp_matches(
        words, '([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})', 'gi'
    ) AS found
"""


def count_unused(days: float) -> int:
    """Count the images that were unused for this number of days.

    This reads every letter.
    """
    return _unused_for(days).exclude(pk__in=_load_ids_in_use()).count()


def delete_unused(days: float) -> Iterator[int]:
    """Mark unused images, and delete images that were unused for this number of days."""
    mark_unused()
    yield 0
    deleted = AT_ONCE
    while deleted == AT_ONCE:
        with short_delete():
            old = _unused_for(days).select_for_update(skip_locked=True).values_list("pk", flat=True)
            deleted, _by_model = UploadedImage.objects.filter(pk__in=list(old[:AT_ONCE])).delete()
        yield deleted


def _unused_for(days: float) -> QuerySet[UploadedImage]:
    return UploadedImage.objects.filter(unused_since__lt=Now() - timedelta(days=days))


def mark_unused() -> None:
    """Mark the images that no letter uses now, and unmark the images that are used."""
    in_use = _load_ids_in_use()
    with short_delete() as cursor:
        # Concurrent runs lock the rows in the same order, so they cannot deadlock. The lock also
        # waits for uploads that clear the mark of an image. So an image is never deleted because of
        # an outdated mark.
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

"""Delete uploads that were checked and never imported. The row of the import stays."""

from django.conf import settings
from django.db import connection, transaction

from delivery.retention.batched_delete import MAX_LOCK_WAIT_S

IS_EXPIRED = "state = 'checked' AND checked_at < now() - make_interval(days => %s)"
# One statement, so all of it or nothing. An import whose row is locked is left for the next call.
EXPIRE = f"""
    WITH expired AS (
        SELECT id FROM subscriber_import
         WHERE {IS_EXPIRED}
         ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
    ), content AS (
        DELETE FROM import_piece USING expired WHERE subscriber_import_id = expired.id
    ), rejected AS (
        DELETE FROM rejected_row USING expired WHERE subscriber_import_id = expired.id
    )
    UPDATE subscriber_import
       SET state = 'expired', finished_at = clock_timestamp(), bytes_read = 0, read_as = NULL,
           rows = 0, added = 0, known = 0, duplicates = 0, skipped = 0, rejected = 0,
           skipped_because = '{{}}', statuses = '{{}}'
      FROM expired
     WHERE subscriber_import.id = expired.id
"""  # noqa: S608 -- a constant


def expire_file() -> bool:
    """Delete one file that was checked over `IMPORT_EXPIRES_DAYS` ago; False if there is none."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        cursor.execute(EXPIRE, [settings.IMPORT_EXPIRES_DAYS])
        return bool(cursor.rowcount)


def count_expired() -> int:
    """Count the files that `expire_file` would delete."""
    with connection.cursor() as cursor:
        query = f"SELECT count(*) FROM subscriber_import WHERE {IS_EXPIRED}"  # noqa: S608 -- a constant
        cursor.execute(query, [settings.IMPORT_EXPIRES_DAYS])
        return int(cursor.fetchone()[0])

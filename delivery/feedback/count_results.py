"""Count delivered copies and unsubscribed readers of each edition."""

from dataclasses import asdict
from datetime import datetime

from django.db import connection

from delivery.models import EditionResult
from delivery.rules.delivery_key import DeliveryKey

# A reader who unsubscribes more than this many days after a letter is not counted for any letter.
UNSUBSCRIBED_WITHIN_DAYS = 7
# Only editions of at most this age, in days, are searched, so that few rows are read. An older
# edition could count only if it was paused for weeks.
_EDITIONS_OF_DAYS = 60
# If there are more rows than this, merging them costs less than reading them.
MANY_ROWS = 500

_MERGE = """
    WITH merged AS (
        DELETE FROM edition_result WHERE id = ANY (ARRAY(
            SELECT id FROM edition_result ORDER BY id DESC LIMIT 20000 FOR UPDATE SKIP LOCKED))
        RETURNING edition_id, delivered, unsubscribed
    )
    INSERT INTO edition_result (edition_id, delivered, unsubscribed)
    SELECT edition_id, sum(delivered), sum(unsubscribed) FROM merged GROUP BY edition_id
"""


def count_first_delivered(key: DeliveryKey, at: datetime) -> bool:
    """Record the first time that a copy was reported as delivered, and count the copy.

    Returns False if the copy was counted before, or does not exist.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH first AS (
                UPDATE delivery SET delivered_at = %(at)s
                WHERE issue_id = %(issue)s AND version = %(version)s
                  AND recipient_id = %(recipient)s AND delivered_at IS NULL
                RETURNING issue_id, version
            )
            INSERT INTO edition_result (edition_id, delivered)
            SELECT edition.id, 1 FROM first JOIN edition USING (issue_id, version)
            """,
            {**asdict(key), "at": at},
        )
        return bool(cursor.rowcount)


def count_unsubscribed(reader: int, at: datetime | None = None) -> None:
    """Count an unsubscribe for the reader's last issue, if that issue is recent.

    Call this function once for each unsubscribe, in the transaction that records the unsubscribe.
    `at` is the current time by default.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO edition_result (edition_id, unsubscribed)
            SELECT edition.id, 1 FROM edition JOIN delivery USING (issue_id, version),
                   coalesce(%(at)s::timestamptz, clock_timestamp()) AS left_at
            WHERE kind = 'newsletter' AND recipient_id = %(reader)s AND outcome = 'sent'
              AND published_at > left_at - make_interval(days => %(published)s)
              AND sent_at > left_at - make_interval(days => %(sent)s)
              AND published_at <= left_at
            ORDER BY sent_at DESC LIMIT 1
            """,
            {
                "at": at,
                "reader": reader,
                "published": _EDITIONS_OF_DAYS,
                "sent": UNSUBSCRIBED_WITHIN_DAYS,
            },
        )


def merge_results() -> None:
    """Merge the rows of each edition if there are many new rows."""
    editions = EditionResult.objects.values("edition").distinct().count()
    if EditionResult.objects.count() > MANY_ROWS + editions:
        with connection.cursor() as cursor:
            cursor.execute(_MERGE)

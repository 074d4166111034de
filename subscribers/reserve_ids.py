"""Reserve ids after a restored backup.

Mails that were sent after the backup may contain ids that the backup does not have. New ids begin
at a random distance from the old ids, because a backup may be restored twice.
"""

import logging

from django.db import connection

logger = logging.getLogger(__name__)

IDS_APART = 100_000_000  # larger than the number of ids used between a backup and its restore
MAX_JUMPS = 1_000  # request numbers have nine digits, so there is no room for more
REQUESTS_APART = 1_000  # larger than the number of any reader's requests


def reserve_ids() -> None:
    """Skip a range of ids, and warn if the database role lacks the privilege.

    The ids stay skipped even after a rollback.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT setval(given::regclass, nextval(given::regclass)
                                          + %s * (1 + floor(random() * %s))::bigint)
            FROM pg_get_serial_sequence('subscriber', 'id') AS given
            WHERE has_sequence_privilege(given, 'UPDATE')
            """,
            [IDS_APART, MAX_JUMPS],
        )
        if cursor.fetchone() is None:
            logger.warning(
                "this role may not set subscriber_id_seq, so new readers and requests may reuse "
                "ids that were assigned after the backup; grant the role UPDATE on the sequence"
            )


def next_request_number(number: int, subscriber_id: int) -> int:
    """Return the number of this reader's next request for mail, after `number`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_sequence_last_value(pg_get_serial_sequence('subscriber', 'id')::regclass)"
        )
        (last_id,) = cursor.fetchone()
    jumps = (last_id or 0) // IDS_APART
    was_here = subscriber_id // IDS_APART < jumps
    return max(number, jumps * REQUESTS_APART if was_here else 0) + 1

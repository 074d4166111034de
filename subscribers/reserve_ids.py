"""Reserve the ids that a restored backup does not know were given out in mail. The distance is
random: a backup may be restored twice."""

import logging

from django.db import connection

logger = logging.getLogger(__name__)

IDS_APART = 100_000_000  # no list grows by so many between a backup and its restore
MAX_JUMPS = 1_000  # possible jumps; there cannot be more, as a request number has nine digits
REQUESTS_APART = 1_000  # no reader asks for mail so often


def reserve_ids() -> None:
    """Let new ids jump, even after a rollback; warn if the role may not set the sequence."""
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
                "this role may not set subscriber_id_seq, so ids of readers and numbers of their "
                "requests may be given out again that were given out after the backup; grant it "
                "UPDATE on the sequence"
            )


def next_request_number(number: int, subscriber_id: int) -> int:
    """The number of this reader's next request for mail, after `number`."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_sequence_last_value(pg_get_serial_sequence('subscriber', 'id')::regclass)"
        )
        (last_id,) = cursor.fetchone()
    jumps = (last_id or 0) // IDS_APART
    was_here = subscriber_id // IDS_APART < jumps
    return max(number, jumps * REQUESTS_APART if was_here else 0) + 1

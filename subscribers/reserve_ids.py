"""
What a restored backup no longer knows was given out is not given out again.

Mail that went out after the backup bears the ids of readers and the numbers of their requests in
its keys. So the ids of new readers jump when a restore is noticed, and by that jump it can be told
of each reader whether they were here before it: then their next request for mail jumps as well.

How far is drawn by lot. The same backup may be restored a second time, and it knows as little of
what was given out after the first as of anything else.
"""

from __future__ import annotations

import logging

from django.db import connection

logger = logging.getLogger(__name__)

# No list grows by so many between a backup and its restore.
IDS_APART = 100_000_000
# So many places there are to land. More would not do: the number of a request has nine digits.
PLACES = 1_000
# Nor does anybody ask for mail so often.
REQUESTS_APART = 1_000


def reserve_ids() -> None:
    """
    Have the ids of new readers jump. Kept even if the caller's transaction is undone.

    A role that may only draw from the sequence cannot do it: that is said, and never in the
    way of what a restored database needs first.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT setval(given::regclass, nextval(given::regclass)
                                          + %s * (1 + floor(random() * %s))::bigint)
            FROM pg_get_serial_sequence('subscriber', 'id') AS given
            WHERE has_sequence_privilege(given, 'UPDATE')
            """,
            [IDS_APART, PLACES],
        )
        if cursor.fetchone() is None:
            logger.warning(
                "this role may not set subscriber_id_seq, so ids of readers and numbers of their "
                "requests may be given out again that were given out after the backup; grant it "
                "UPDATE on the sequence"
            )


def number_after(number: int, subscriber_id: int) -> int:
    """The number of a request that comes after this one of the same reader's."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_sequence_last_value(pg_get_serial_sequence('subscriber', 'id')::regclass)"
        )
        (last_id,) = cursor.fetchone()
    place = (last_id or 0) // IDS_APART
    was_here = subscriber_id // IDS_APART < place
    return max(number, place * REQUESTS_APART if was_here else 0) + 1

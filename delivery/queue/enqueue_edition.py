"""Enqueue one delivery for each reader of an edition, in batches."""

from typing import Any

from django.db import connection
from django.db.models import QuerySet

from delivery.models import Edition
from delivery.models.batch import BATCHES_PER_EDITION
from delivery.plan_methods import NESTED_LOOPS, plan_without
from delivery.queue.batches.insert_and_split import batch_size_for, first_batch_id, insert_batches
from delivery.queue.erasure_lock import LOCK_ENQUEUE
from delivery.reader_fields import FIELD_COLUMNS

# New batches start at the current queue position, so the batches of a new edition alternate with
# those of running editions.
CURRENT_POSITION = """
    SELECT greatest(1, coalesce(min(position), 1)) FROM batch
    WHERE state = 'ready' AND due_at <= clock_timestamp() AND position > 0
"""


def enqueue(edition: Edition, audience: QuerySet[Any, Any], *, batch_size: int) -> int:
    """Enqueue one delivery for each row of `audience`; return how many there are.

    `audience` is a query with exactly the columns recipient id, address and reader fields. If the
    edition has `merge_fields`, the last column is an array of their values. `batch_size` is the
    largest size of a batch. Runs in the caller's transaction, for a new edition. Raises
    `LookupError` if the audience needs more batches than an edition can have.
    """
    size = batch_size_for(edition, batch_size)
    rows, parameters = audience.order_by().query.sql_with_params()
    first = first_batch_id(edition.pk)
    columns = f"{FIELD_COLUMNS}, fields" if edition.merge_fields else FIELD_COLUMNS
    with connection.cursor() as cursor:
        # The lock is a separate statement, so that the next statement sees which readers were
        # erased during the wait.
        cursor.execute(LOCK_ENQUEUE)
        with plan_without(cursor, NESTED_LOOPS):
            cursor.execute(
                f"""
                INSERT INTO delivery (issue_id, recipient_id, version, batch_id, address,
                                      {columns}, outcome)
                SELECT %s, recipient, %s, %s + (row_number() OVER (ORDER BY recipient) - 1) / %s,
                       address, {columns}, 'waiting'
                FROM ({rows}) AS audience (recipient, address, {columns})
                """,  # noqa: S608 -- the sub-query is compiled by the ORM, its values are parameters
                [edition.issue_id, edition.version, first, size, *parameters],
            )
            count = cursor.rowcount
        if count > size * BATCHES_PER_EDITION:
            raise LookupError(f"{count} readers do not fit into one edition's batches of {size}.")
        # Position 0 is for transactional mail, which goes first (enqueue_transactional.py).
        rows = f"""
            SELECT %(first)s + number, %(edition)s::bigint, current.position + number, 'ready',
                   %(held_until)s::timestamptz, least(%(size)s, %(count)s - number * %(size)s)
            FROM generate_series(0, (%(count)s - 1) / %(size)s) AS number,
                 ({CURRENT_POSITION}) AS current (position)
            WHERE %(count)s > 0
        """  # noqa: S608 -- a constant
        cursor.execute(
            insert_batches(rows),
            {
                "first": first,
                "edition": edition.pk,
                "held_until": edition.held_until,
                "count": count,
                "size": size,
            },
        )
    Edition.objects.filter(pk=edition.pk).update(audience=count)
    edition.audience = count
    return int(count)

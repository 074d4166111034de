"""The number of readers in each state, without reading the readers."""

from collections.abc import Mapping

from django.db import connection, transaction
from django.db.models import Sum

from subscribers.models import ReaderTotal, Subscriber

# With more rows than this, merging costs less than reading them.
MANY_ROWS = 500

_MERGE = """
    WITH merged AS (
        DELETE FROM reader_total WHERE id = ANY (ARRAY(
            SELECT id FROM reader_total ORDER BY id LIMIT 20000 FOR UPDATE SKIP LOCKED))
        RETURNING state, readers
    )
    INSERT INTO reader_total (state, readers)
    SELECT state, sum(readers) FROM merged GROUP BY state HAVING sum(readers) <> 0
"""


def counts_by_state() -> Mapping[str, int]:
    """Count the readers in each state, in the order of the states."""
    totals = ReaderTotal.objects.order_by().values_list("state").annotate(Sum("readers"))
    found = dict(totals)
    return {state: found.get(state, 0) for state in Subscriber.State.values}


def merge_totals() -> None:
    """Merge the rows of each state if there are many."""
    if ReaderTotal.objects.order_by("pk")[MANY_ROWS : MANY_ROWS + 1].exists():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_MERGE)

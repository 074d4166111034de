"""Count readers by state, and new readers by source, from the stored totals."""

from collections.abc import Mapping
from datetime import date

from django.db import connection
from django.db.models import Sum

from subscribers.models import NewReaders, ReaderTotal, Subscriber

# If a table has more rows than this, merge the rows. A merge costs less than reading all rows each
# time.
MANY_ROWS = 500

_MERGE = """
    WITH merged AS (
        DELETE FROM {table} WHERE id = ANY (ARRAY(
            SELECT id FROM {table} ORDER BY id LIMIT 20000 FOR UPDATE SKIP LOCKED))
        RETURNING {columns}, readers
    )
    INSERT INTO {table} ({columns}, readers)
    SELECT {columns}, sum(readers) FROM merged GROUP BY {columns} HAVING sum(readers) <> 0
"""


def counts_by_state() -> Mapping[str, int]:
    """Count the readers in each state, in the order of the states."""
    totals = ReaderTotal.objects.order_by().values_list("state").annotate(Sum("readers"))
    found = dict(totals)
    return {state: found.get(state, 0) for state in Subscriber.State.values}


def load_new_readers(since: date) -> Mapping[tuple[date, str], int]:
    """Count, by month and source, the readers who were confirmed since a given month."""
    months = NewReaders.objects.filter(month__gte=since).order_by()
    rows = months.values_list("month", "source").annotate(Sum("readers"))
    return {(month, source): number for month, source, number in rows if number > 0}


def merge_totals() -> None:
    """Merge the rows of each table of totals that has many rows."""
    for model, columns in ((ReaderTotal, "state"), (NewReaders, "month, source")):
        if model.objects.order_by("pk")[MANY_ROWS : MANY_ROWS + 1].exists():
            merge = _MERGE.format(table=model._meta.db_table, columns=columns)
            with connection.cursor() as cursor:
                cursor.execute(merge)

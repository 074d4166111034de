"""Delete old rows in short transactions along an index, without delaying calls."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.plan_methods import plan_without
from delivery.queue.short_transaction import short_transaction

# The values of one row in an index; None before the first row and after the last row.
Row = Sequence[Any] | None

ROWS_AT_ONCE = 1_000
MAX_LOCK_WAIT_S = 1


@contextmanager
def short_delete() -> Iterator[CursorWrapper]:
    """Open a short transaction.

    Raises `OperationalError` if a lock is not free in time.
    """
    with short_transaction() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        cursor.execute("SET LOCAL synchronous_commit = off")
        # Read along the index, even if the statistics are out of date.
        with plan_without(cursor, "enable_seqscan"):
            yield cursor


@dataclass(frozen=True, slots=True)
class OldRows:
    """Rows that are older than `days` by their column `age`, and that `may_go`.

    `along` are the columns of a unique index. `in_order` is true if later rows of this index are
    younger. If `in_order`, reading stops at the first row that is too young; otherwise the whole
    table is read.
    """

    table: str
    along: Sequence[str]
    age: str
    days: float
    may_go: str = "true"
    in_order: bool = True

    @property
    def _is_old(self) -> str:
        # The bound is not clock_timestamp(), because a bound that moves cannot use an index.
        return f"{self.age} < statement_timestamp() - make_interval(secs => %s)"

    def count(self) -> int:
        """Count the old rows. Reads the whole table and takes no locks."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*) FROM {self.table} WHERE {self._is_old} AND {self.may_go}",  # noqa: S608 -- our own words
                [self.days * 86400],
            )
            return int(cursor.fetchone()[0])

    def delete(self, *, batch_size: int = ROWS_AT_ONCE) -> Iterator[int]:
        """Delete the rows in steps of `batch_size` read rows.

        Yields the number of deleted rows after each step.
        """
        after: Row = None
        while True:
            with short_delete() as cursor:
                last, has_more = self._end_of_range(cursor, after, batch_size)
                gone = self._delete(cursor, *self._between(after, last), batch_size)
            yield gone
            if not has_more:
                return
            after = last

    def _end_of_range(self, cursor: CursorWrapper, after: Row, batch_size: int) -> tuple[Row, bool]:
        """Find the last row of the next range, and whether old rows follow.

        The row is None at the table's end.
        """
        where, values = self._between(after, None)
        cursor.execute(
            f"""
            SELECT {self._is_old}, {", ".join(self.along)} FROM {self.table} WHERE {where}
            ORDER BY {", ".join(self.along)} OFFSET %s LIMIT 1
            """,  # noqa: S608 -- our own words
            [self.days * 86400, *values, batch_size - 1],
        )
        row = cursor.fetchone()
        return (None, False) if row is None else (row[1:], bool(row[0]) or not self.in_order)

    def _delete(self, cursor: CursorWrapper, where: str, values: list[Any], most: int) -> int:
        # Rows are found by `ctid` and with a limit, so that the rest of the table is not read, even
        # with outdated statistics.
        cursor.execute(
            f"""
            DELETE FROM {self.table} WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM {self.table}
                WHERE {where} AND {self._is_old} AND {self.may_go}
                ORDER BY {", ".join(self.along)} LIMIT %s FOR UPDATE SKIP LOCKED))
            """,  # noqa: S608 -- our own words
            [*values, self.days * 86400, most],
        )
        return int(cursor.rowcount)

    def _between(self, after: Row, last: Row) -> tuple[str, list[Any]]:
        names = ", ".join(self.along)
        places = ", ".join(["%s"] * len(self.along))
        bounds = [(">", after), ("<=", last)]
        where = [f"({names}) {sign} ({places})" for sign, row in bounds if row is not None]
        values = [value for _, row in bounds if row is not None for value in row]
        return " AND ".join(where) or "true", values

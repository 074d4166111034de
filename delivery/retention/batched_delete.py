"""
Deletes old rows a piece at a time: the only place that says what a piece is.

A piece is a short transaction of its own. It reads a bounded stretch along an index, takes only
rows that nobody holds, and waits for nobody long, so that it never stands in the way of a call that
starts or settles. Two who delete at once share the work, and one who is killed has deleted some
rows and no others: whoever comes next begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.queue.short_transaction import short_transaction

ROWS_AT_ONCE = 1_000
MAX_LOCK_WAIT_S = 1


@contextmanager
def short_delete() -> Iterator[CursorWrapper]:
    """
    The transaction of one piece. Raises `OperationalError` if somebody kept it waiting too long.

    It does not wait for the disk: rows that a crash of the server brings back are deleted again.
    """
    with short_transaction() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{MAX_LOCK_WAIT_S}s'")
        cursor.execute("SET LOCAL synchronous_commit = off")
        # A stretch is read along its index, also where the statistics are of before the table grew.
        cursor.execute("SET LOCAL enable_seqscan = off")
        # A table that has to be read from end to end all the same seems dear enough to be compiled.
        cursor.execute("SET LOCAL jit = off")
        yield cursor


@dataclass(frozen=True, slots=True)
class OldRows:
    """
    The rows of a table that are older than so many days and may go.

    `along` are the columns, unique together, along whose index they are looked for; they grow with
    `age`, the column that says how old a row is. `may_go` is what else must hold. Where they do not
    grow with it (`in_order` is false), the table is walked to its end: for tables without an index
    by age, along their primary key. All of it is SQL that we have written.
    """

    table: str
    along: Sequence[str]
    age: str
    days: float
    may_go: str = "true"
    in_order: bool = True

    @property
    def _is_old(self) -> str:
        # Not clock_timestamp(): an index is of no use to a bound that moves.
        return f"{self.age} < statement_timestamp() - make_interval(secs => %s)"

    def count(self) -> int:
        """How many there are. Reads the whole table, and holds nothing."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*) FROM {self.table} WHERE {self._is_old} AND {self.may_go}",  # noqa: S608 -- our own words
                [self.days * 86400],
            )
            return int(cursor.fetchone()[0])

    def delete(self, *, at_once: int = ROWS_AT_ONCE) -> Iterator[int]:
        """
        Delete them, along the index, `at_once` rows looked at in a piece; how many went with each.

        What somebody else holds is left to another time.
        """
        after: Sequence[Any] | None = None
        while True:
            with short_delete() as cursor:
                last, goes_on = self._end_of_stretch(cursor, after, at_once)
                gone = self._delete(cursor, after, last, at_once)
            yield gone
            if not goes_on:
                return
            after = last

    def _end_of_stretch(
        self, cursor: CursorWrapper, after: Sequence[Any] | None, at_once: int
    ) -> tuple[Sequence[Any] | None, bool]:
        """
        The last row of the next stretch, and whether there are old ones behind it; None if the
        stretch ends with the table.
        """
        where, values = self._between(after, None)
        cursor.execute(
            f"""
            SELECT {self._is_old}, {", ".join(self.along)} FROM {self.table} WHERE {where}
            ORDER BY {", ".join(self.along)} OFFSET %s LIMIT 1
            """,  # noqa: S608 -- our own words
            [self.days * 86400, *values, at_once - 1],
        )
        row = cursor.fetchone()
        return (None, False) if row is None else (row[1:], bool(row[0]) or not self.in_order)

    def _delete(
        self,
        cursor: CursorWrapper,
        after: Sequence[Any] | None,
        last: Sequence[Any] | None,
        at_once: int,
    ) -> int:
        where, values = self._between(after, last)
        # By the rows' own places, and no more of them than a stretch has: whatever the statistics
        # say, the rest of the table is not read.
        cursor.execute(
            f"""
            DELETE FROM {self.table} WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM {self.table}
                WHERE {where} AND {self._is_old} AND {self.may_go}
                ORDER BY {", ".join(self.along)} LIMIT %s FOR UPDATE SKIP LOCKED))
            """,  # noqa: S608 -- our own words
            [*values, self.days * 86400, at_once],
        )
        return int(cursor.rowcount)

    def _between(
        self, after: Sequence[Any] | None, last: Sequence[Any] | None
    ) -> tuple[str, list[Any]]:
        """The condition for a place behind `after` and up to `last`, and its values."""
        names = ", ".join(self.along)
        places = ", ".join(["%s"] * len(self.along))
        bounds = [(">", after), ("<=", last)]
        where = [f"({names}) {sign} ({places})" for sign, row in bounds if row is not None]
        values = [value for _, row in bounds if row is not None for value in row]
        return " AND ".join(where) or "true", values

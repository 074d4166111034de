"""
Putting candidates onto the list, thousands at a time: the only place that adds readers in bulk.

A chunk is copied into a temporary table, and what may not go further is taken out of it step by
step: addresses that stood earlier in the file, then people whom an import does not bring back.
The rest is inserted `ON CONFLICT DO NOTHING`; what is not inserted then is a known reader. A dry
run does the same except for the insert. Each step counts what it took, so the numbers add up.

Runs inside the caller's transaction, which also ends the temporary tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType

from django.db import connection
from django.db.backends.utils import CursorWrapper

from subscribers.importing.judging import Candidate
from subscribers.importing.report import Counts, LeftOut
from subscribers.models import Subscriber, Suppression

CREATE_TABLES = """
    CREATE TEMPORARY TABLE import_candidate (
        line integer PRIMARY KEY,
        email varchar COLLATE "C" NOT NULL,
        email_key varchar COLLATE "C" GENERATED ALWAYS AS (lower(email)) STORED,
        name varchar NOT NULL
    );
    CREATE TEMPORARY TABLE import_address_seen (
        email_key varchar COLLATE "C" PRIMARY KEY,
        line integer NOT NULL
    );
"""
DROP_TABLES = "DROP TABLE import_candidate, import_address_seen"
EMPTY_CANDIDATES = "TRUNCATE import_candidate"
COPY_CANDIDATES = "COPY import_candidate (line, email, name) FROM STDIN"

# Remembered in the database and not in memory, which must not grow with the file.
TAKE_OUT_DUPLICATES = """
    WITH first_time AS (
        INSERT INTO import_address_seen (email_key, line)
        SELECT email_key, min(line) FROM import_candidate GROUP BY email_key
        ON CONFLICT DO NOTHING
        RETURNING line
    )
    DELETE FROM import_candidate
     WHERE line NOT IN (SELECT line FROM first_time)
"""
# What a person did explains more than why their address is shut out, so it comes first.
TAKE_OUT_WHO_MAY_NOT_BE_MAILED = """
    DELETE FROM import_candidate
     USING import_candidate AS candidate
      LEFT JOIN subscriber USING (email_key)
      LEFT JOIN suppression ON suppression.address_key = candidate.email_key
                           AND suppression.lifted_at IS NULL
     WHERE candidate.line = import_candidate.line
       AND (subscriber.state IN ('unsubscribed', 'bounced', 'complained')
            OR suppression.id IS NOT NULL)
    RETURNING import_candidate.line, import_candidate.email,
              CASE WHEN subscriber.state IN ('unsubscribed', 'bounced', 'complained')
                   THEN subscriber.state ELSE suppression.reason END
"""
# In the order of the file, so that readers are numbered as their owner wrote them down.
ADD = """
    INSERT INTO subscriber
           (email, name, state, source, subscriber_import_id, confirmed_at)
    SELECT email, name,
           CASE WHEN %(confirmed)s THEN 'confirmed' ELSE 'pending' END,
           'import', %(import_id)s,
           CASE WHEN %(confirmed)s THEN statement_timestamp() END
      FROM import_candidate
     ORDER BY line
    ON CONFLICT (email_key) DO NOTHING
"""
COUNT_WHO_WOULD_BE_ADDED = """
    SELECT count(*)
      FROM import_candidate
     WHERE NOT EXISTS (SELECT FROM subscriber
                        WHERE subscriber.email_key = import_candidate.email_key)
"""
COPY_LEFT_OUT = """
    COPY left_out_row (subscriber_import_id, line, result, email, reason) FROM STDIN
"""

WHY_SKIPPED: dict[str, str] = {
    Subscriber.State.UNSUBSCRIBED: "This reader has left; an import does not bring them back.",
    Subscriber.State.BOUNCED: "Mail to this reader bounces.",
    Subscriber.State.COMPLAINED: "This reader called a letter spam.",
    Suppression.Reason.BOUNCE: "The address is suppressed: mail to it bounces.",
    Suppression.Reason.COMPLAINT: "The address is suppressed: its owner called a letter spam.",
    Suppression.Reason.UNSUBSCRIBE: "The address is suppressed: its owner has left.",
    Suppression.Reason.MANUAL: "The address is suppressed: an operator shut it out.",
}


class Applying:
    """
    Takes chunks of candidates into the list, as one import. A context manager.

    With `import_id` None it is a dry run: nothing outside the temporary tables changes.
    """

    def __init__(self, import_id: int | None, *, confirmed: bool) -> None:
        self.import_id = import_id
        self.confirmed = confirmed

    def __enter__(self) -> Applying:
        self._cursor: CursorWrapper = connection.cursor()
        self._cursor.execute(CREATE_TABLES)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        # After an error the transaction is over, and the tables with it.
        if kind is None:
            self._cursor.execute(DROP_TABLES)
        self._cursor.close()

    def add(self, candidates: Sequence[Candidate]) -> tuple[Counts, list[LeftOut]]:
        """Take one chunk in. Says what became of its rows, and who was skipped and why."""
        cursor = self._cursor
        cursor.execute(EMPTY_CANDIDATES)
        self._copy(COPY_CANDIDATES, candidates)
        cursor.execute(TAKE_OUT_DUPLICATES)
        duplicates = cursor.rowcount
        cursor.execute(TAKE_OUT_WHO_MAY_NOT_BE_MAILED)
        skipped = [
            LeftOut.skipped(line, email, WHY_SKIPPED[why]) for line, email, why in cursor.fetchall()
        ]
        added = self._add_the_rest()
        return Counts(
            added=added,
            known=len(candidates) - duplicates - len(skipped) - added,
            duplicates=duplicates,
            skipped=len(skipped),
        ), sorted(skipped, key=lambda row: row.line)

    def record(self, left_out: Iterable[LeftOut]) -> None:
        """Keep the rows that were left out, for the report. Nothing on a dry run."""
        if self.import_id is not None:
            self._copy(
                COPY_LEFT_OUT,
                ((self.import_id, row.line, row.result, row.email, row.reason) for row in left_out),
            )

    def _add_the_rest(self) -> int:
        if self.import_id is None:
            self._cursor.execute(COUNT_WHO_WOULD_BE_ADDED)
            return int(self._cursor.fetchone()[0])
        self._cursor.execute(ADD, {"confirmed": self.confirmed, "import_id": self.import_id})
        return int(self._cursor.rowcount)

    def _copy(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with self._cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

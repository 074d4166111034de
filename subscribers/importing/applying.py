"""
Putting a piece of a file onto the list: the only place that adds readers in bulk.

The candidates of a piece are copied into a temporary table, and what may not go further is taken
out of it step by step: addresses that stood earlier in the file, then people whom an import does
not bring back. The rest is inserted `ON CONFLICT DO NOTHING`; what is not inserted then is a known
reader. Whoever is added gets a line in the ledger of consent by the same statement, and whoever
did not consent elsewhere a mail to confirm.

A check does the same as far as the insert and counts there: inserting and rolling back would use
up ids and leave as much dead weight in the list as an import leaves readers.

Runs inside the caller's transaction, which also ends the temporary tables. No statement takes or
gives more at once than fits into a socket's buffer, or comes as a stream: with a process that
freezes in the middle of that the server would wait for good, and everybody for its locks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.models import Edition
from delivery.queue.mail_on_request import request_mail
from subscribers.erasure_hash import erased_among
from subscribers.importing.judging import Candidate
from subscribers.importing.report import Counts, LeftOut
from subscribers.models import Subscriber, Suppression

CREATE_CANDIDATES = """
    CREATE TEMPORARY TABLE IF NOT EXISTS import_candidate (
        line integer PRIMARY KEY,
        email varchar COLLATE "C" NOT NULL,
        email_key varchar COLLATE "C" GENERATED ALWAYS AS (lower(email)) STORED,
        name varchar NOT NULL
    ) ON COMMIT DROP;
    CREATE TEMPORARY TABLE IF NOT EXISTS import_skipped (
        line integer PRIMARY KEY, email varchar NOT NULL, why varchar NOT NULL
    ) ON COMMIT DROP;
    CREATE TEMPORARY TABLE IF NOT EXISTS import_added (
        id bigint PRIMARY KEY, email varchar NOT NULL
    ) ON COMMIT DROP;
    TRUNCATE pg_temp.import_candidate, pg_temp.import_skipped, pg_temp.import_added;
"""
TAKE_CANDIDATES = """
    INSERT INTO import_candidate (line, email, name)
    SELECT * FROM unnest(%s::integer[], %s::text[], %s::text[])
"""

# A dry run remembers what it saw for itself alone: a temporary table is found before one of the
# same name that lasts.
SEE_FOR_ONESELF = """
    CREATE TEMPORARY TABLE import_address_seen (LIKE import_address_seen INCLUDING ALL)
    ON COMMIT DROP
"""
LOOK_AWAY = "DROP TABLE pg_temp.import_address_seen"

TAKE_OUT_DUPLICATES = """
    WITH first_time AS (
        INSERT INTO import_address_seen (subscriber_import_id, email_key, line)
        SELECT %s, email_key, min(line) FROM import_candidate GROUP BY email_key
        ON CONFLICT DO NOTHING
        RETURNING line
    )
    DELETE FROM import_candidate
     WHERE line NOT IN (SELECT line FROM first_time)
"""
# What a person did explains more than why their address is shut out, so it comes first.
TAKE_OUT_WHO_MAY_NOT_BE_MAILED = """
    WITH gone AS (
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
    )
    INSERT INTO import_skipped SELECT * FROM gone
"""
TAKE_OUT_WHO_WAS_ERASED = """
    WITH gone AS (
        DELETE FROM import_candidate WHERE email_key = ANY(%s)
           -- Whoever has signed up again since is known like anybody else.
           AND NOT EXISTS (SELECT FROM subscriber
                            WHERE subscriber.email_key = import_candidate.email_key)
        -- Their address is what was erased: it is not put on record once more.
        RETURNING line, '', 'erased'
    )
    INSERT INTO import_skipped SELECT * FROM gone
"""
SKIPPED = "SELECT line, email, why FROM import_skipped ORDER BY line"

# In the order of the file, so that readers are numbered as their owner wrote them down.
ADD = """
    WITH added AS (
        INSERT INTO subscriber
               (email, name, state, source, subscriber_import_id, confirmed_at, requests)
        SELECT email, name,
               CASE WHEN %(confirmed)s THEN 'confirmed' ELSE 'pending' END,
               'import', %(import_id)s,
               CASE WHEN %(confirmed)s THEN statement_timestamp() END,
               CASE WHEN %(confirmed)s THEN 0 ELSE 1 END
          FROM import_candidate
         ORDER BY line
        ON CONFLICT (email_key) DO NOTHING
        RETURNING id, email
    ), consent AS (
        INSERT INTO consent_record
               (subscriber_id, act, how, subscriber_import_id, request, detail)
        SELECT id, 'imported', 'import', %(import_id)s,
               CASE WHEN NOT %(confirmed)s THEN 1 END, %(detail)s
          FROM added
         ORDER BY id
    )
    INSERT INTO import_added SELECT id, email FROM added
"""
ADDED = "SELECT id, email FROM import_added ORDER BY id"

COUNT_WHO_WOULD_BE_ADDED = """
    SELECT count(*)
      FROM import_candidate
     WHERE NOT EXISTS (SELECT FROM subscriber
                        WHERE subscriber.email_key = import_candidate.email_key)
"""
KEEP_LEFT_OUT = """
    INSERT INTO left_out_row (subscriber_import_id, line, result, email, reason)
    SELECT %s, * FROM unnest(%s::integer[], %s::text[], %s::text[], %s::text[])
"""
FIRST_REQUEST = 1
SLICE = 250  # rows

ERASED = "erased"  # as TAKE_OUT_WHO_WAS_ERASED says it

WHY_SKIPPED: dict[str, str] = {
    Subscriber.State.UNSUBSCRIBED: "This reader has left; an import does not bring them back.",
    Subscriber.State.BOUNCED: "Mail to this reader bounces.",
    Subscriber.State.COMPLAINED: "This reader called a letter spam.",
    Suppression.Reason.BOUNCE: "The address is suppressed: mail to it bounces.",
    Suppression.Reason.COMPLAINT: "The address is suppressed: its owner called a letter spam.",
    Suppression.Reason.UNSUBSCRIBE: "The address is suppressed: its owner has left.",
    Suppression.Reason.MANUAL: "The address is suppressed: an operator shut it out.",
    ERASED: "This reader had their record erased; an import does not bring them back.",
}


@dataclass(frozen=True, slots=True)
class Terms:
    """
    Under which import rows are applied, and what its importer states.

    `detail` goes into the ledger beside everybody who is added. With `is_check` nobody is.
    """

    import_id: int
    confirmed: bool
    detail: str = ""
    is_check: bool = False


def see_for_oneself() -> None:
    """Have what follows in this transaction remember addresses for itself, and leave nothing."""
    with connection.cursor() as cursor:
        cursor.execute(SEE_FOR_ONESELF)


def look_away() -> None:
    """The opposite; the end of the transaction does it too."""
    with connection.cursor() as cursor:
        cursor.execute(LOOK_AWAY)


def apply(terms: Terms, judged: Sequence[Candidate | LeftOut]) -> tuple[Counts, list[LeftOut]]:
    """
    Take one piece in, in the caller's transaction.

    Says what became of its rows, and which were rejected or skipped and why, in their order.
    """
    rejected = [row for row in judged if isinstance(row, LeftOut)]
    candidates = [row for row in judged if isinstance(row, Candidate)]
    with connection.cursor() as cursor:
        cursor.execute(CREATE_CANDIDATES)
        cursor.execute(TAKE_CANDIDATES, _columns(candidates, ("line", "email", "name")))
        cursor.execute(TAKE_OUT_DUPLICATES, [terms.import_id])
        duplicates = cursor.rowcount
        skipped = _take_out_who_stays_away(cursor, candidates)
        added = _add(cursor, terms)
    counts = Counts(
        added=added,
        known=len(candidates) - duplicates - len(skipped) - added,
        duplicates=duplicates,
        skipped=len(skipped),
        rejected=len(rejected),
    )
    return counts, sorted(rejected + skipped, key=lambda row: row.line)


def keep_left_out(import_id: int, left_out: Sequence[LeftOut]) -> None:
    """Keep the rows that were left out, for the report."""
    columns = _columns(left_out, ("line", "result", "email", "reason"))
    with connection.cursor() as cursor:
        cursor.execute(KEEP_LEFT_OUT, [import_id, *columns])


def _take_out_who_stays_away(
    cursor: CursorWrapper, candidates: Sequence[Candidate]
) -> list[LeftOut]:
    cursor.execute(TAKE_OUT_WHO_MAY_NOT_BE_MAILED)
    if erased := erased_among(candidate.email.lower() for candidate in candidates):
        cursor.execute(TAKE_OUT_WHO_WAS_ERASED, [list(erased)])
    return [
        LeftOut.skipped(line, email, WHY_SKIPPED[why])
        for line, email, why in _in_slices(cursor, SKIPPED)
    ]


def _add(cursor: CursorWrapper, terms: Terms) -> int:
    if terms.is_check:
        cursor.execute(COUNT_WHO_WOULD_BE_ADDED)
        return int(cursor.fetchone()[0])
    cursor.execute(
        ADD,
        {
            "confirmed": terms.confirmed,
            "import_id": terms.import_id,
            "detail": terms.detail,
        },
    )
    added = int(cursor.rowcount)
    if not terms.confirmed:
        request_mail(
            Edition.Kind.CONFIRMATION, FIRST_REQUEST, _in_slices(cursor, ADDED), ahead=False
        )
    return added


def _columns(rows: Sequence[Candidate | LeftOut], names: Sequence[str]) -> list[list[Any]]:
    """The rows column by column."""
    return [[getattr(row, name) for row in rows] for name in names]


def _in_slices(cursor: CursorWrapper, query: str) -> list[Any]:
    """All that a query finds, fetched a little at a time."""
    found: list[Any] = []
    cursor.execute(f"DECLARE slices NO SCROLL CURSOR FOR {query}")
    while True:
        cursor.execute(f"FETCH {SLICE} FROM slices")
        rows = cursor.fetchall()
        found += rows
        if len(rows) < SLICE:
            break
    cursor.execute("CLOSE slices")
    return found

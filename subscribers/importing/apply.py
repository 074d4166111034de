"""
Putting a piece of a file onto the list: the only place that adds readers in bulk.

The candidates of a piece are copied into a temporary table, and what may not go further is taken
out of it step by step: addresses that stood earlier in the file, then people whom an import does
not bring back. Addresses of people who are gone, as the file says, are suppressed. The rest is
inserted `ON CONFLICT DO NOTHING`; what is not inserted then is a known reader. Whoever is added
gets a line in the ledger of consent by the same statement, and whoever did not consent elsewhere a
mail to confirm.

A check does the same as far as the insert and counts there: inserting and rolling back would use
up ids and leave as much dead weight in the list as an import leaves readers.

Runs inside the caller's transaction, which also ends the temporary tables. No statement takes or
gives more at once than fits into a socket's buffer, or comes as a stream: with a process that
freezes in the middle of that the server would wait for good, and everybody for its locks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.interface import request_mail
from delivery.models import Edition
from subscribers.data_requests.erasure_hash import erased_among
from subscribers.importing.file_format.status import Status
from subscribers.importing.file_format.validate_row import Candidate, LeftOut
from subscribers.importing.report import ADDED_PENDING, Counts
from subscribers.models import Subscriber, Suppression

CREATE_CANDIDATES = """
    CREATE TEMPORARY TABLE IF NOT EXISTS import_candidate (
        line integer PRIMARY KEY,
        email varchar COLLATE "C" NOT NULL,
        email_key varchar COLLATE "C" GENERATED ALWAYS AS (lower(email)) STORED,
        name varchar NOT NULL,
        status varchar,
        left_at timestamptz,
        has_left boolean GENERATED ALWAYS AS (status NOT IN ('subscribed', 'unconfirmed')) STORED
    ) ON COMMIT DROP;
    CREATE TEMPORARY TABLE IF NOT EXISTS import_skipped (
        line integer PRIMARY KEY, email varchar NOT NULL, why varchar NOT NULL
    ) ON COMMIT DROP;
    CREATE TEMPORARY TABLE IF NOT EXISTS import_added (
        id bigint PRIMARY KEY, email varchar NOT NULL, state varchar NOT NULL
    ) ON COMMIT DROP;
    CREATE TEMPORARY TABLE IF NOT EXISTS import_left (
        line integer PRIMARY KEY, email_key varchar COLLATE "C" NOT NULL, subscriber_id bigint,
        status varchar NOT NULL, at timestamptz NOT NULL
    ) ON COMMIT DROP;
    TRUNCATE pg_temp.import_candidate, pg_temp.import_skipped, pg_temp.import_added,
             pg_temp.import_left;
"""
TAKE_CANDIDATES = """
    INSERT INTO import_candidate (line, email, name, status, left_at)
    SELECT * FROM unnest(%s::integer[], %s::text[], %s::text[], %s::text[], %s::timestamptz[])
"""

# A dry run remembers what it saw for itself alone: a temporary table is found before one of the
# same name that lasts.
SEE_FOR_ONESELF = """
    CREATE TEMPORARY TABLE import_address_seen (LIKE import_address_seen INCLUDING ALL)
    ON COMMIT DROP
"""
LOOK_AWAY = "DROP TABLE pg_temp.import_address_seen"

# A row that says that somebody is gone counts, also where they stood further up as subscribed.
TAKE_OUT_DUPLICATES = """
    WITH first_time AS (
        INSERT INTO import_address_seen AS seen (subscriber_import_id, email_key, line, has_left)
        SELECT DISTINCT ON (email_key) %s, email_key, line, coalesce(has_left, false)
          FROM import_candidate
         ORDER BY email_key, has_left DESC NULLS LAST, line
        ON CONFLICT (subscriber_import_id, email_key) DO UPDATE
           SET line = excluded.line, has_left = true
         WHERE excluded.has_left AND NOT seen.has_left
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
                   THEN subscriber.state
                   WHEN suppression.origin = 'import' AND suppression.reason = 'manual'
                   THEN 'blocked' ELSE suppression.reason END
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
# Readers whom the file calls gone, locked in one order before anything is decided.
LOCK_WHO_LEFT = """
    SELECT count(*) FROM (
        SELECT id FROM subscriber
         WHERE email_key IN (SELECT email_key FROM import_candidate WHERE has_left)
         ORDER BY id FOR NO KEY UPDATE
    ) AS locked
"""
# Their own confirmation here outweighs another product's file, unless they left it later.
TAKE_OUT_WHO_LEFT_ELSEWHERE = """
    WITH gone AS (
        DELETE FROM import_candidate
         USING import_candidate AS candidate
          LEFT JOIN subscriber USING (email_key)
          LEFT JOIN consent_record ON consent_record.id = subscriber.opt_in_id
         WHERE candidate.line = import_candidate.line AND candidate.has_left
        RETURNING candidate.*, subscriber.id AS subscriber_id,
                  coalesce(subscriber.state = 'confirmed'
                           AND consent_record.at >= coalesce(candidate.left_at, '-infinity'), false)
                  AS stays
    ), left_here AS (
        INSERT INTO import_left
        SELECT line, email_key, subscriber_id, status,
               least(coalesce(left_at, statement_timestamp()), statement_timestamp())
          FROM gone WHERE NOT stays
    )
    INSERT INTO import_skipped
    SELECT line, email, CASE WHEN stays THEN 'stays' ELSE 'file: ' || status END FROM gone
"""
# The effect of each status. A reader blocked elsewhere keeps their state.
EFFECT = """
    (VALUES ('unsubscribed', 'unsubscribe', 'unsubscribed', 'left'),
            ('bounced', 'bounce', 'bounced', 'bounced'),
            ('complained', 'complaint', 'complained', 'complained'),
            ('blocked', 'manual', NULL, 'shut out')
    ) AS effect (status, reason, state, act)
"""
# The graver of two reasons stays. A lifted one no longer counts.
SUPPRESS_WHO_LEFT = f"""
    INSERT INTO suppression AS held (address_key, reason, origin, at)
    SELECT email_key, reason, 'import', at
      FROM import_left JOIN {EFFECT} USING (status)
     ORDER BY email_key
    ON CONFLICT (address_key) DO UPDATE
    SET reason = excluded.reason, origin = excluded.origin, lifted_at = NULL, lifted_by_id = NULL,
        at = CASE WHEN held.lifted_at IS NULL THEN least(held.at, excluded.at)
                  ELSE excluded.at END
    WHERE held.lifted_at IS NOT NULL
       OR gravity_of_suppression(excluded.reason, excluded.origin)
          > gravity_of_suppression(held.reason, held.origin)
"""  # noqa: S608 -- a constant, like the next two
# A pending reader stays pending and is not mailed; their own confirmation lifts the suppression.
CHANGE_WHO_LEFT = f"""
    UPDATE subscriber
       SET state = CASE WHEN gravity_of_state(effect.state) > gravity_of_state(subscriber.state)
                        THEN effect.state ELSE subscriber.state END,
           unsubscribed_at = CASE WHEN status = 'unsubscribed'
                                  THEN coalesce(unsubscribed_at, import_left.at)
                                  ELSE unsubscribed_at END
      FROM import_left JOIN {EFFECT} USING (status)
     WHERE subscriber.id = import_left.subscriber_id AND effect.state IS NOT NULL
       AND subscriber.state <> 'pending'
       AND (gravity_of_state(effect.state) > gravity_of_state(subscriber.state)
            OR status = 'unsubscribed' AND unsubscribed_at IS NULL)
"""  # noqa: S608
# Each act once since their last opt-in. An operator's block is not the file's.
RECORD_WHO_LEFT = f"""
    INSERT INTO consent_record (subscriber_id, act, how, subscriber_import_id, at, detail)
    SELECT subscriber.id, act, 'import', %s, import_left.at, 'The file says: ' || status || '.'
      FROM import_left JOIN {EFFECT} USING (status)
      JOIN subscriber ON subscriber.id = import_left.subscriber_id
     WHERE NOT EXISTS (
               SELECT FROM consent_record AS earlier
                WHERE earlier.subscriber_id = subscriber.id AND earlier.act = effect.act
                  AND (earlier.act <> 'shut out' OR earlier.how = 'import')
                  AND earlier.id > coalesce(subscriber.opt_in_id, 0))
     ORDER BY line
"""  # noqa: S608
SKIPPED = "SELECT line, email, why FROM import_skipped ORDER BY line"

# In the order of the file, so that readers are numbered as their owner wrote them down.
ADD = """
    WITH added AS (
        INSERT INTO subscriber
               (email, name, state, source, subscriber_import_id, confirmed_at, requests)
        SELECT email, name,
               CASE WHEN confirms THEN 'confirmed' ELSE 'pending' END,
               'import', %(import_id)s,
               CASE WHEN confirms THEN statement_timestamp() END,
               CASE WHEN confirms THEN 0 ELSE 1 END
          FROM import_candidate
         CROSS JOIN LATERAL (
               SELECT %(confirmed)s AND status IS DISTINCT FROM 'unconfirmed') AS _ (confirms)
         ORDER BY line
        ON CONFLICT (email_key) DO NOTHING
        RETURNING id, email, state
    ), consent AS (
        INSERT INTO consent_record
               (subscriber_id, act, how, subscriber_import_id, request, detail)
        SELECT id, 'imported', 'import', %(import_id)s,
               CASE WHEN state = 'pending' THEN 1 END,
               CASE WHEN state = 'pending' THEN '' ELSE %(detail)s END
          FROM added
         ORDER BY id
    )
    INSERT INTO import_added SELECT id, email, state FROM added
"""
TO_BE_ASKED = "SELECT id, email FROM import_added WHERE state = 'pending' ORDER BY id"

COUNT_WHO_WOULD_BE_ADDED = """
    SELECT count(*), count(*) FILTER (WHERE status = 'unconfirmed')
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
STAYS = "stays"  # as TAKE_OUT_WHO_LEFT_ELSEWHERE says it

WHY_SKIPPED: dict[str, str] = {
    Subscriber.State.UNSUBSCRIBED: "This reader has left; an import does not bring them back.",
    Subscriber.State.BOUNCED: "Mail to this reader bounces.",
    Subscriber.State.COMPLAINED: "This reader called a letter spam.",
    Suppression.Reason.BOUNCE: "The address is suppressed: mail to it bounces.",
    Suppression.Reason.COMPLAINT: "The address is suppressed: its owner called a letter spam.",
    Suppression.Reason.UNSUBSCRIBE: "The address is suppressed: its owner has left.",
    Suppression.Reason.MANUAL: "The address is suppressed: an operator shut it out.",
    Status.BLOCKED: "The address is suppressed: another product blocked it.",
    **{
        f"file: {status}": f"The file says “{status}”: the address is suppressed and never mailed."
        for status in Status
        if status.is_gone
    },
    STAYS: "The file says that this reader is gone elsewhere. They confirmed here and stay.",
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


def apply(
    terms: Terms, judged: Sequence[Candidate | LeftOut]
) -> tuple[Counts, list[LeftOut], Counter[str]]:
    """
    Take one piece in, in the caller's transaction.

    Says what became of its rows, which were rejected or skipped and why, in their order, and how
    many rows say which status. `ADDED_PENDING` counts readers who are added, but not as confirmed.
    """
    rejected = [row for row in judged if isinstance(row, LeftOut)]
    candidates = [row for row in judged if isinstance(row, Candidate)]
    with connection.cursor() as cursor:
        cursor.execute(CREATE_CANDIDATES)
        stated = [candidate.stated for candidate in candidates]
        statuses = [says.status.value if says else None for says in stated]
        left_at = [says.left_at if says else None for says in stated]
        columns = _columns(candidates, ("line", "email", "name"))
        cursor.execute(TAKE_CANDIDATES, [*columns, statuses, left_at])
        cursor.execute(TAKE_OUT_DUPLICATES, [terms.import_id])
        duplicates = cursor.rowcount
        skipped = _take_out_who_stays_away(cursor, terms, candidates)
        added, pending = _add(cursor, terms)
    counts = Counts(
        added=added,
        known=len(candidates) - duplicates - len(skipped) - added,
        duplicates=duplicates,
        skipped=len(skipped),
        rejected=len(rejected),
    )
    said = Counter(status for status in statuses if status)
    said[ADDED_PENDING] = pending
    return counts, sorted(rejected + skipped, key=lambda row: row.line), said


def keep_left_out(import_id: int, left_out: Sequence[LeftOut]) -> None:
    """Keep the rows that were left out, for the report."""
    columns = _columns(left_out, ("line", "result", "email", "reason"))
    with connection.cursor() as cursor:
        cursor.execute(KEEP_LEFT_OUT, [import_id, *columns])


def _take_out_who_stays_away(
    cursor: CursorWrapper, terms: Terms, candidates: Sequence[Candidate]
) -> list[LeftOut]:
    # First: an address that was erased is not put on record once more.
    if erased := erased_among(candidate.email.lower() for candidate in candidates):
        cursor.execute(TAKE_OUT_WHO_WAS_ERASED, [list(erased)])
    if any(row.stated is not None and row.stated.status.is_gone for row in candidates):
        cursor.execute(LOCK_WHO_LEFT)
        cursor.execute(TAKE_OUT_WHO_LEFT_ELSEWHERE)
        if not terms.is_check:
            cursor.execute(SUPPRESS_WHO_LEFT)
            cursor.execute(RECORD_WHO_LEFT, [terms.import_id])
            cursor.execute(CHANGE_WHO_LEFT)
    cursor.execute(TAKE_OUT_WHO_MAY_NOT_BE_MAILED)
    return [
        LeftOut.skipped(line, email, WHY_SKIPPED[why])
        for line, email, why in _in_slices(cursor, SKIPPED)
    ]


def _add(cursor: CursorWrapper, terms: Terms) -> tuple[int, int]:
    """How many are added, and how many of them cannot be confirmed by a statement."""
    if terms.is_check:
        cursor.execute(COUNT_WHO_WOULD_BE_ADDED)
        added, pending = cursor.fetchone()
        return added, pending
    cursor.execute(
        ADD,
        {
            "confirmed": terms.confirmed,
            "import_id": terms.import_id,
            "detail": terms.detail,
        },
    )
    added = int(cursor.rowcount)
    if asked := _in_slices(cursor, TO_BE_ASKED):
        request_mail(Edition.Kind.CONFIRMATION, FIRST_REQUEST, asked, ahead=False)
    return added, len(asked) if terms.confirmed else 0


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

"""Apply a chunk of a file's rows to the readers, in the caller's transaction.

A check counts rows without inserting readers, because readers who are inserted and rolled back
would use up ids. Every statement fits into a socket's buffer. If a process freezes while it sends a
longer statement, the database server waits for the rest and keeps the locks.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.interface import enqueue_welcome, request_mail
from delivery.models import Edition
from subscribers.consent.consent_log import FILE_SAYS
from subscribers.data_requests.erase import erased_among
from subscribers.fields.find_tags import find_or_add_tags, lock_tags
from subscribers.fields.own_fields import hold_fields
from subscribers.importing.file_format.read_file import Row
from subscribers.importing.file_format.recognise_columns import Fields
from subscribers.importing.file_format.split_records import BadRow
from subscribers.importing.file_format.validate_row import Candidate, excluded, validate_row
from subscribers.importing.import_sentences import consent_detail, parts_of_details
from subscribers.models import RejectedRow, SubscriberImport
from subscribers.models.subscriber_import import ADDED_PENDING, ADDED_UNSTATED, State
from subscribers.refusal_sentences import refuse

MOST_TAGS = 1_000  # the most different tags in a file
CREATE_CANDIDATES = """
    CREATE TEMPORARY TABLE IF NOT EXISTS import_candidate (
        line integer PRIMARY KEY,
        email varchar COLLATE "C" NOT NULL,
        status varchar,
        left_at timestamptz,
        since timestamptz,
        lost_date varchar NOT NULL,
        name varchar NOT NULL,
        fields jsonb NOT NULL,
        tags integer[] NOT NULL,
        left_topics integer[] NOT NULL,
        consent varchar NOT NULL,
        email_key varchar COLLATE "C" GENERATED ALWAYS AS (lower(email)) STORED,
        has_left boolean GENERATED ALWAYS AS
            (status NOT IN ('unstated', 'subscribed', 'unconfirmed')) STORED,
        why varchar,  -- the row is skipped
        subscriber_id bigint  -- the reader who left according to the file
    ) ON COMMIT DROP;
    CREATE TEMPORARY TABLE IF NOT EXISTS import_added (
        id bigint PRIMARY KEY, email varchar NOT NULL, state varchar NOT NULL
    ) ON COMMIT DROP;
    TRUNCATE pg_temp.import_candidate, pg_temp.import_added;
"""
INSERT_CANDIDATES = """
    INSERT INTO import_candidate
    SELECT line, email, status, left_at,
           -- A date without a zone may be some hours ahead.
           CASE WHEN since IS NOT NULL THEN least(since, statement_timestamp()) END, lost_date,
           name, fields::jsonb,
           tags::integer[], left_topics::integer[], consent
      FROM unnest(%s::integer[], %s::text[], %s::text[], %s::timestamptz[], %s::timestamptz[],
                  %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[])
           AS given (line, email, status, left_at, since, lost_date, name, fields, tags,
                     left_topics, consent)
"""

# This temporary table hides the permanent table: if two tables have the same name, PostgreSQL uses
# the temporary table.
SHADOW_SEEN_ADDRESSES = """
    CREATE TEMPORARY TABLE import_seen_address (LIKE import_seen_address INCLUDING ALL)
    ON COMMIT DROP
"""

# If one row says that a reader left, and another row of the same address does not, the row that
# says “left” counts.
REMOVE_DUPLICATES = """
    WITH first_time AS (
        INSERT INTO import_seen_address AS seen (subscriber_import_id, email_key, line, has_left)
        SELECT DISTINCT ON (email_key) %s, email_key, line, coalesce(has_left, false)
          FROM import_candidate
         ORDER BY email_key, has_left DESC NULLS LAST, line
        ON CONFLICT (subscriber_import_id, email_key) DO UPDATE
           SET line = excluded.line, has_left = true
         WHERE excluded.has_left AND (NOT seen.has_left OR seen.line = excluded.line)
        RETURNING line
    )
    DELETE FROM import_candidate
     WHERE line NOT IN (SELECT line FROM first_time)
"""
# This statement runs for the whole file before the first chunk is applied. If chunks were applied
# first, an early row could add a reader, who would get mail although a later row says that this
# reader left.
NOTE_GONE = """
    INSERT INTO import_seen_address (subscriber_import_id, email_key, line, has_left)
    SELECT DISTINCT ON (email_key) %s, email_key, line, true
      FROM unnest(%s::text[], %s::integer[]) AS gone (email, line),
           LATERAL (SELECT lower(email COLLATE "C") AS email_key) AS _
     ORDER BY email_key, line
    ON CONFLICT DO NOTHING
"""
# Check first whether the reader left, because this reason explains more than a suppression.
SKIP_UNMAILABLE = """
    UPDATE import_candidate
       SET why = CASE WHEN subscriber.state IN ('unsubscribed', 'bounced', 'complained')
                      THEN 'reader_' || subscriber.state
                      WHEN suppression.origin = 'import' AND suppression.reason = 'manual'
                      THEN 'suppressed_blocked'
                      WHEN suppression.origin = 'import' THEN 'suppressed_by_import'
                      ELSE 'suppressed_' || suppression.reason END
      FROM import_candidate AS candidate
      LEFT JOIN subscriber USING (email_key)
      LEFT JOIN suppression ON suppression.address_key = candidate.email_key
                           AND suppression.lifted_at IS NULL
     WHERE candidate.line = import_candidate.line AND candidate.why IS NULL
       AND (subscriber.state IN ('unsubscribed', 'bounced', 'complained')
            OR suppression.id IS NOT NULL)
"""
# The address of an erased reader is not stored again. If an erased reader signed up again, the row
# is counted as that of a known reader.
SKIP_ERASED = """
    UPDATE import_candidate SET why = 'erased', email = ''
     WHERE email_key = ANY(%s)
       AND NOT EXISTS (SELECT FROM subscriber
                        WHERE subscriber.email_key = import_candidate.email_key)
"""
# Before any row is applied, lock the readers who left according to the file, in the order of their
# ids.
LOCK_GONE = """
    SELECT count(*) FROM (
        SELECT id FROM subscriber
         WHERE email_key IN (SELECT email_key FROM import_candidate WHERE has_left)
         ORDER BY id FOR NO KEY UPDATE
    ) AS locked
"""
# If a reader left according to the file, but confirmed in Homing after that, the confirmation
# counts.
SKIP_GONE = """
    UPDATE import_candidate
       SET why = CASE WHEN subscriber.state = 'confirmed'
                       AND consent_record.at >= coalesce(candidate.left_at, '-infinity')
                      THEN 'confirmed_here' ELSE 'file_' || candidate.status END,
           left_at = least(coalesce(candidate.left_at, statement_timestamp()),
                           statement_timestamp()),
           subscriber_id = subscriber.id
      FROM import_candidate AS candidate
      LEFT JOIN subscriber USING (email_key)
      LEFT JOIN consent_record ON consent_record.id = subscriber.opt_in_id
     WHERE candidate.line = import_candidate.line AND candidate.why IS NULL AND candidate.has_left
"""
# Select the rows of readers who left, each with the effects of its status. If the file says
# “blocked”, the reader's state does not change.
LEFT = """
    (VALUES ('unsubscribed', 'unsubscribe', 'unsubscribed', 'left'),
            ('bounced', 'bounce', 'bounced', 'bounced'),
            ('complained', 'complaint', 'complained', 'complained'),
            ('blocked', 'manual', NULL, 'blocked')
    ) AS effect (status, reason, state, act)
    JOIN import_candidate AS gone
      ON gone.status = effect.status AND gone.why = 'file_' || gone.status
"""
# If the address is already suppressed, the more serious of the two reasons stays. A lifted
# suppression no longer counts.
SUPPRESS_GONE = f"""
    INSERT INTO suppression AS held (address_key, reason, origin, at)
    SELECT email_key, reason, 'import', left_at
      FROM {LEFT}
     ORDER BY email_key
    ON CONFLICT (address_key) DO UPDATE
    SET reason = excluded.reason, origin = excluded.origin, lifted_at = NULL, lifted_by_id = NULL,
        at = CASE WHEN held.lifted_at IS NULL THEN least(held.at, excluded.at)
                  ELSE excluded.at END
    WHERE held.lifted_at IS NOT NULL
       OR gravity_of_suppression_1(excluded.reason, excluded.origin)
          > gravity_of_suppression_1(held.reason, held.origin)
"""  # noqa: S608 -- LEFT is a constant, as in the next two statements
# A pending reader stays pending and is not mailed. If the reader confirms later, the confirmation
# lifts the suppression.
UPDATE_GONE = f"""
    UPDATE subscriber
       SET state = CASE WHEN gravity_of_state_1(effect.state) > gravity_of_state_1(subscriber.state)
                        THEN effect.state ELSE subscriber.state END,
           unsubscribed_at = CASE WHEN gone.status = 'unsubscribed'
                                  THEN coalesce(unsubscribed_at, left_at)
                                  ELSE unsubscribed_at END
      FROM {LEFT}
     WHERE subscriber.id = gone.subscriber_id AND effect.state IS NOT NULL
       AND subscriber.state <> 'pending'
       AND (gravity_of_state_1(effect.state) > gravity_of_state_1(subscriber.state)
            OR gone.status = 'unsubscribed' AND unsubscribed_at IS NULL)
"""  # noqa: S608
# Record an act only if the reader has no record of the same act since the last opt-in. A lifted
# bounce is recorded again. If the file says that a reader was blocked, the block is recorded, even
# if an operator blocked the address before.
RECORD_GONE = f"""
    INSERT INTO consent_record (subscriber_id, act, how, subscriber_import_id, at, detail)
    SELECT subscriber.id, act, 'import', %s, left_at, '{FILE_SAYS}' || gone.status
      FROM {LEFT}
      JOIN subscriber ON subscriber.id = gone.subscriber_id
     WHERE NOT EXISTS (
               SELECT FROM consent_record AS earlier
                WHERE earlier.subscriber_id = subscriber.id AND earlier.act = effect.act
                  AND (earlier.act <> 'blocked' OR earlier.how = 'import')
                  AND earlier.id > coalesce(subscriber.opt_in_id, 0)
                  AND (earlier.act <> 'bounced' OR NOT EXISTS (
                      SELECT FROM consent_record AS later
                       WHERE later.subscriber_id = subscriber.id AND later.act = 'lifted'
                         AND later.id > earlier.id)))
     ORDER BY line
"""  # noqa: S608
SKIPPED = "SELECT line, email, why FROM import_candidate WHERE why IS NOT NULL ORDER BY line"

# Insert readers in the order of the file's rows, so that their ids have the same order.
ADD = """
    WITH added AS (
        INSERT INTO subscriber
               (email, name, fields, tags, left_topics, state, source, subscriber_import_id,
                confirmed_at, requests)
        SELECT email, name, fields, tags_with_1('{}', left_topics, tags || %(tags)s), left_topics,
               CASE WHEN confirms THEN 'confirmed' ELSE 'pending' END,
               'import', %(import_id)s,
               CASE WHEN confirms THEN coalesce(since, statement_timestamp()) END,
               -- The welcome letter is the first mail on request.
               CASE WHEN confirms AND NOT %(welcome)s THEN 0 ELSE 1 END
          FROM import_candidate
         CROSS JOIN LATERAL (
               SELECT %(confirmed)s AND status IS DISTINCT FROM 'unconfirmed'
                      AND (status IS DISTINCT FROM 'unstated' OR %(list_is_confirmed)s)
         ) AS _ (confirms)
         WHERE why IS NULL
         ORDER BY line
        ON CONFLICT (email_key) DO NOTHING
        RETURNING id, email, email_key, state
    ), consent AS (
        INSERT INTO consent_record
               (subscriber_id, act, how, subscriber_import_id, request, detail)
        SELECT id, 'imported', 'import', %(import_id)s,
               CASE WHEN state = 'pending' THEN 1 END,
               concat_ws('; ', CASE WHEN state = 'confirmed' THEN nullif(%(detail)s, '') END,
                         CASE WHEN state = 'confirmed' AND status = 'unstated'
                              THEN %(list_detail)s END,
                         replace(%(signed_up)s, '{date}',
                                 to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD')),
                         CASE WHEN lost_date <> '' THEN replace(%(date_lost)s, '{date}', lost_date)
                         END,
                         nullif(consent, ''))
          FROM added JOIN import_candidate USING (email_key)
         ORDER BY id
    )
    INSERT INTO import_added SELECT id, email, state FROM added
"""
# Readers who are already on the list get the file's tags too. First lock these readers in the order
# of their ids.
LOCK_KNOWN = """
    SELECT count(*) FROM (
        SELECT id FROM subscriber
         WHERE email_key IN (SELECT email_key FROM import_candidate WHERE why IS NULL
                                AND email NOT IN (SELECT email FROM import_added))
         ORDER BY id FOR NO KEY UPDATE
    ) AS locked
"""
TAG_KNOWN = """
    UPDATE subscriber SET tags = tags_with_1(subscriber.tags, subscriber.left_topics, added)
      FROM import_candidate CROSS JOIN LATERAL (SELECT import_candidate.tags || %s) AS _ (added)
     WHERE subscriber.email_key = import_candidate.email_key AND why IS NULL
       AND import_candidate.email NOT IN (SELECT email FROM import_added)
       AND tags_with_1(subscriber.tags, subscriber.left_topics, added) <> subscriber.tags
"""
TO_BE_ASKED = "SELECT id, email FROM import_added WHERE state = 'pending' ORDER BY id"

COUNT_NEW = """
    SELECT count(*), count(*) FILTER (WHERE status = 'unconfirmed'),
           count(*) FILTER (WHERE status = 'unstated')
      FROM import_candidate
     WHERE why IS NULL
       AND NOT EXISTS (SELECT FROM subscriber
                        WHERE subscriber.email_key = import_candidate.email_key)
"""
READERS_TO_WELCOME = """
    SELECT id, email, name, fields FROM subscriber
     WHERE id IN (SELECT id FROM import_added WHERE state = 'confirmed') ORDER BY id
"""
FIRST_REQUEST = 1
SLICE = 250  # rows in a statement
T = TypeVar("T", Candidate, RejectedRow)
LONGEST_STATEMENT_TEXT = 300_000  # characters of all rows in one statement


@contextmanager
def seen_addresses_of_dry_run() -> Iterator[None]:
    """Let the caller's transaction store seen addresses in a temporary table."""
    with connection.cursor() as cursor:
        cursor.execute(SHADOW_SEEN_ADDRESSES)
        yield
        cursor.execute("DROP TABLE pg_temp.import_seen_address")


def note_gone(record: SubscriberImport, rows: Sequence[Row | BadRow], fields: Fields) -> None:
    """Store the addresses of readers who must not be mailed according to these rows.

    Runs in the caller's transaction.
    """
    gone = [
        valid
        for row in rows
        if isinstance(row, Row) and row.status is not None and row.status.status.is_gone
        if not isinstance(valid := validate_row(row, fields), RejectedRow)
    ]
    with connection.cursor() as cursor:
        for some in _of_bounded_size(gone):
            emails, lines = [row.email for row in some], [row.line for row in some]
            cursor.execute(NOTE_GONE, [record.pk or 0, emails, lines])


def apply_rows(
    record: SubscriberImport, rows: Sequence[Candidate | RejectedRow], fields: Fields
) -> list[RejectedRow]:
    """Apply one chunk of rows and return those that were rejected or skipped.

    Runs in the caller's transaction and adds the counts to `record` without saving it. `fields` are
    the fields of the file.
    """
    rejected, candidates = _count_tags(record, rows)
    statuses = [row.status.status.value if row.status else None for row in candidates]
    with connection.cursor() as cursor:
        cursor.execute(CREATE_CANDIDATES)
        _insert_candidates(cursor, record, candidates, fields)
        cursor.execute(REMOVE_DUPLICATES, [record.pk or 0])
        duplicates = cursor.rowcount
        skipped_rows = _skip(cursor, record, candidates)
        added, pending, unstated = _add(cursor, record)
    counts = {
        "added": added,
        "known": len(candidates) - duplicates - len(skipped_rows) - added,
        "duplicates": duplicates,
        "skipped": len(skipped_rows),
        "rejected": len(rejected),
    }
    for result, count in counts.items():
        setattr(record, result, getattr(record, result) + count)
    record.rows += len(rows)
    reasons = Counter(row.reason for row in skipped_rows)
    record.skipped_because = Counter(record.skipped_because) + reasons
    counted = Counter(status for status in statuses if status)
    counted += Counter({ADDED_PENDING: pending, ADDED_UNSTATED: unstated})
    record.statuses = Counter(record.statuses) + counted
    return sorted(rejected + skipped_rows, key=lambda row: row.line)


def _count_tags(
    record: SubscriberImport, rows: Sequence[Candidate | RejectedRow]
) -> tuple[list[RejectedRow], list[Candidate]]:
    """Count the rows' tags in `record`, and reject rows that exceed the limit on tags."""
    counts, names = record.tags_in_file, {name.lower(): name for name in record.tags_in_file}
    rejected: list[RejectedRow] = []
    candidates: list[Candidate] = []
    for row in rows:
        if isinstance(row, RejectedRow):
            rejected.append(row)
            continue
        if len(names) + sum(name.lower() not in names for name in row.tags) > MOST_TAGS:
            reason = refuse("file_has_too_many_tags", most=MOST_TAGS)
            rejected.append(excluded(row.line, row.email, reason, row.cells))
            continue
        for tag in row.tags:
            name = names.setdefault(tag.lower(), tag)
            counts[name] = counts.get(name, 0) + 1
        for tag, answer, _ in row.answers:
            of_tag = record.tag_values.setdefault(tag, {})
            of_tag[answer] = of_tag.get(answer, 0) + 1
        candidates.append(row)
    return rejected, candidates


def _insert_candidates(
    cursor: CursorWrapper, record: SubscriberImport, rows: Sequence[Candidate], fields: Fields
) -> None:
    own = [(at, one.name) for at, one in enumerate(fields) if at]
    kept = hold_fields([name for _, name in own]) if own else set()
    own = [(at, name) for at, name in own if name in kept]
    names = {name for row in rows for name in (*row.tags, *row.left_topics)}
    # A check adds no tags.
    made: set[int] = set()
    ids = find_or_add_tags(names, made) if names and record.state != State.CHECKING else {}
    if made:
        record.made = {**record.made, "tags": sorted(made.union(record.made.get("tags", ())))}

    def numbers(tags: Sequence[str]) -> str:
        found = sorted({ids[name] for name in tags if name in ids})
        return f"{{{','.join(map(str, found))}}}"

    def values(row: Candidate) -> str:
        found = {name: row.values[at] for at, name in own if row.values[at]}
        return json.dumps(found, ensure_ascii=False) if found else "{}"

    for some in _of_bounded_size(rows):
        cursor.execute(
            INSERT_CANDIDATES,
            [
                [row.line for row in some],
                [row.email for row in some],
                [row.status.status.value if row.status else None for row in some],
                [row.status.left_at if row.status else None for row in some],
                [row.since for row in some],
                [row.lost_date for row in some],
                [row.values[0] for row in some],
                [values(row) for row in some],
                [numbers(row.tags) for row in some],
                [numbers(row.left_topics) for row in some],
                [row.consent for row in some],
            ],
        )


def _of_bounded_size(rows: Sequence[T]) -> Iterator[list[T]]:
    """Split rows into parts whose statements fit into a socket's buffer."""
    some: list[T] = []
    characters = 0
    for row in rows:
        characters += _size_of(row)
        if some and characters > LONGEST_STATEMENT_TEXT:
            yield some
            some, characters = [], 0
        some.append(row)
    if some:
        yield some


def _size_of(row: Candidate | RejectedRow) -> int:
    if isinstance(row, RejectedRow):
        return len(row.email) + sum(map(len, row.parameters.get("row", ())))
    texts = (row.email, *row.values, row.lost_date, row.consent)
    return sum(map(len, texts)) + 8 * len(row.tags)


def store_rejected_rows(import_id: int, rows: Sequence[RejectedRow]) -> None:
    """Store rejected and skipped rows for the report."""
    for row in rows:
        row.subscriber_import_id = import_id
    for some in _of_bounded_size(rows):
        RejectedRow.objects.bulk_create(some)


def _skip(
    cursor: CursorWrapper, record: SubscriberImport, candidates: Sequence[Candidate]
) -> list[RejectedRow]:
    # Check first which addresses belong to erased readers, so that no such address is stored again.
    if erased := erased_among(candidate.email.lower() for candidate in candidates):
        cursor.execute(SKIP_ERASED, [list(erased)])
    if any(row.status is not None and row.status.status.is_gone for row in candidates):
        cursor.execute(LOCK_GONE)
        cursor.execute(SKIP_GONE)
        if record.state != State.CHECKING:
            cursor.execute(SUPPRESS_GONE)
            cursor.execute(RECORD_GONE, [record.pk])
            cursor.execute(UPDATE_GONE)
    cursor.execute(SKIP_UNMAILABLE)
    return [
        excluded(line, email, refuse(reason), result=RejectedRow.Result.SKIPPED)
        for line, email, reason in _in_slices(cursor, SKIPPED)
    ]


def _add(cursor: CursorWrapper, record: SubscriberImport) -> tuple[int, int, int]:
    """Add readers; return three numbers of readers.

    The first number counts the added readers, and the second those who stay pending despite a
    statement of consent. The third number, which only a check needs, counts the readers whom a
    statement about the list would confirm.
    """
    if record.state == State.CHECKING:
        cursor.execute(COUNT_NEW)
        added, unconfirmed, unstated = cursor.fetchone()
        return added, unconfirmed + (0 if record.list_is_confirmed else unstated), unstated
    tags = sorted(lock_tags(record.tags)) if record.tags else []
    cursor.execute(
        ADD,
        {
            "confirmed": record.confirmed,
            "import_id": record.pk,
            "list_is_confirmed": record.list_is_confirmed,
            "detail": consent_detail(record),
            **parts_of_details(),
            "tags": tags,
            "welcome": record.welcome,
        },
    )
    added = int(cursor.rowcount)
    if tags or record.tags_in_file:
        cursor.execute(LOCK_KNOWN)
        cursor.execute(TAG_KNOWN, [tags])
    if record.welcome:
        welcomed = _in_slices(cursor, READERS_TO_WELCOME)
        readers = [(*columns, json.loads(own)) for *columns, own in welcomed]
        enqueue_welcome(readers, opt_in=FIRST_REQUEST, ahead=False)
    if asked := _in_slices(cursor, TO_BE_ASKED):
        request_mail(Edition.Kind.CONFIRMATION, FIRST_REQUEST, asked, ahead=False)
    return added, len(asked) if record.confirmed else 0, 0


def _in_slices(cursor: CursorWrapper, query: str) -> list[Any]:
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

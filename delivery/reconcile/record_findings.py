"""
Brings the provider's record of an edition into the books.

Every acceptance is kept as evidence and settled by it; nothing here sends, resends or marks
anything as not sent. A batch under a lease is left to its holder, which meets the evidence.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from delivery.models import Alarm, Evidence
from delivery.monitoring.alarms import raise_alarm
from delivery.queue.batches.active_batches import IS_OPEN
from delivery.queue.batches.batch_state import end_settled_batch, resume_batches
from delivery.queue.batches.edition_lock import lock_edition
from delivery.queue.evidence import record_acceptances, settle_by_evidence
from delivery.queue.known_database import IS_THE_KNOWN_DATABASE
from delivery.queue.quarantine import quarantine_marked
from delivery.queue.short_transaction import short_transaction
from delivery.reconcile.compare import RecordedDelivery
from delivery.rules.call_results import Found
from delivery.rules.edition_state import restored
from delivery.rules.outcomes import Sent
from delivery.rules.reason import Reason, ReasonCode

# Deliveries read at a time, in the order of their key.
READ_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class EditionRecord:
    """
    An edition whose record is walked.

    `backup_not_before` is the latest moment before `unreconciled_since` at which this database
    knows of a call, or else when the edition was published. One that `has_ended` sends nothing
    more, whatever is found. One that `is_scheduled` is taken for one that nobody has a copy of; of
    it `published_at` is when it was scheduled.
    """

    edition: int
    issue: uuid.UUID
    version: int
    title: str
    stream: str
    published_at: datetime
    unreconciled_since: datetime | None
    backup_not_before: datetime
    has_ended: bool
    is_scheduled: bool = False


def load_editions(issue: uuid.UUID | None, *, retention_days: int) -> list[EditionRecord]:
    """
    All editions of an issue; without one, those that are open, that are not reconciled, or that
    had a call since the provider's memory begins. Never one whose copies are dropped: there is
    nothing to compare, and the provider has forgotten them as well.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT id, issue_id, version, title, stream, begun, unreconciled_since,
                   greatest(begun, (SELECT max(started_at) FROM attempt
                                    WHERE started_at < unreconciled_since)),
                   control IN ('cancelled', 'closed'), control = 'scheduled'
            FROM edition, LATERAL (
                SELECT CASE control WHEN 'scheduled' THEN control_at ELSE published_at END
            ) AS since (begun)
            WHERE copies_dropped_at IS NULL
              AND (issue_id = %(issue)s
               OR %(issue)s::uuid IS NULL
                  AND (unreconciled_since IS NOT NULL
                       OR EXISTS (SELECT FROM batch WHERE edition_id = edition.id
                                                      AND {IS_OPEN} AND state <> 'done')
                       OR EXISTS (SELECT FROM attempt WHERE edition_id = edition.id
                                    AND started_at > clock_timestamp()
                                                     - make_interval(days => %(days)s))))
            ORDER BY id
            """,  # noqa: S608 -- a constant
            {"issue": issue, "days": retention_days},
        )
        return [EditionRecord(*row) for row in cursor.fetchall()]


def load_versions(issue: uuid.UUID) -> set[int]:
    """All versions of an issue that this database knows, walked or not."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT version FROM edition WHERE issue_id = %s", [issue])
        return {row[0] for row in cursor.fetchall()}


def load_unreconciled_versions(issue: uuid.UUID, before: int) -> list[int]:
    """The versions of an issue before this one whose readers a restore left unknown."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT version FROM edition
            WHERE issue_id = %s AND version < %s
              AND (unreconciled_since IS NOT NULL OR NOT {IS_THE_KNOWN_DATABASE})
            ORDER BY version
            """,  # noqa: S608 -- a constant
            [issue, before],
        )
        return [row[0] for row in cursor.fetchall()]


def database_time() -> datetime:
    """The database's clock, which is the only one that decides."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def find_last_accepted(stream: str) -> tuple[uuid.UUID, datetime] | None:
    """The last attempt that was accepted on a stream, and when it began; None if none was."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT id, started_at FROM attempt WHERE stream = %s AND accepted > 0
            ORDER BY started_at DESC LIMIT 1
            """,
            [stream],
        )
        row = cursor.fetchone()
    return (row[0], row[1]) if row else None


# --- What was found -------------------------------------------------------------------------------


def load_recorded(walked: EditionRecord, recipients: Sequence[int]) -> dict[int, RecordedDelivery]:
    """What the rows of these recipients say. Who has no delivery is not in it."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT recipient_id, outcome, provider_message_id FROM delivery
            WHERE issue_id = %s AND version = %s AND recipient_id = ANY(%s)
            """,
            [walked.issue, walked.version, list(recipients)],
        )
        return {row[0]: RecordedDelivery(row[1], row[2]) for row in cursor.fetchall()}


def settle_found(walked: EditionRecord, news: Sequence[tuple[int, Found]]) -> int:
    """
    Keep what the provider is found to have accepted, and settle by it; return how many settled.

    A second copy raises its alarm and stops the edition.
    """
    by_attempt: dict[uuid.UUID | None, list[tuple[int, Sent]]] = defaultdict(list)
    for recipient, listed in sorted(news, key=_earliest_first):
        by_attempt[_attempt(listed)].append((recipient, Sent(listed.message_id, listed.at)))
    with short_transaction() as cursor:
        lock_edition(cursor, walked.edition)
        for attempt, acceptances in by_attempt.items():
            record_acceptances(cursor, walked.edition, attempt, acceptances, Evidence.Source.LOOKUP)
        return settle_by_evidence(cursor, walked.edition, [recipient for recipient, _ in news])


def _earliest_first(found: tuple[int, Found]) -> tuple[bool, float, str]:
    listed = found[1]
    return listed.at is None, listed.at.timestamp() if listed.at else 0.0, listed.message_id


def _attempt(listed: Found) -> uuid.UUID | None:
    try:
        return uuid.UUID(hex=listed.attempt)
    except ValueError:
        return None


# --- What was not found ---------------------------------------------------------------------------


def iter_sent(walked: EditionRecord) -> Iterator[list[tuple[int, datetime]]]:
    """Recipients whose copy is recorded as sent, and when, a stretch at a time."""
    yield from _iter_recipients(walked, ["sent"])


def iter_open(walked: EditionRecord) -> Iterator[list[tuple[int, datetime]]]:
    """
    Recipients whose copy waits or is in doubt, a stretch at a time; the times say nothing.

    Of an edition that has ended also those whose copy was withdrawn.
    """
    yield from _iter_recipients(walked, ["waiting", "unknown", *["withdrawn"] * walked.has_ended])


def _iter_recipients(
    walked: EditionRecord, outcomes: list[str]
) -> Iterator[list[tuple[int, datetime]]]:
    after = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT recipient_id, coalesce(sent_at, clock_timestamp()) FROM delivery
                WHERE issue_id = %s AND version = %s AND recipient_id > %s AND outcome = ANY(%s)
                ORDER BY recipient_id LIMIT %s
                """,
                [walked.issue, walked.version, after, outcomes, READ_AT_ONCE],
            )
            rows = [(row[0], row[1]) for row in cursor.fetchall()]
        if rows:
            yield rows
        if len(rows) < READ_AT_ONCE:
            return
        after = rows[-1][0]


def load_alarmed(walked: EditionRecord, keys: Sequence[str]) -> set[str]:
    """Which of these delivery keys have an alarm already that the provider does not show them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT about FROM alarm WHERE edition_id = %s AND kind = %s AND about = ANY(%s)",
            [walked.edition, Alarm.Kind.NOT_AT_PROVIDER.value, list(keys)],
        )
        return {row[0] for row in cursor.fetchall()}


def raise_missing(walked: EditionRecord, key: str, recipient: int) -> bool:
    """
    Put it on record that the provider does not show what is recorded as sent.

    It is not sent again: our record has evidence, and the provider's silence is none.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, walked.edition)
        return raise_alarm(
            cursor,
            walked.edition,
            Alarm.Kind.NOT_AT_PROVIDER,
            key,
            Reason.of(ReasonCode.NOT_AT_PROVIDER, recipient=recipient),
        )


def quarantine_bare_marks(walked: EditionRecord) -> int:
    """
    Have workers ask about every waiting copy that bears a time or an id without being settled.

    Each raises an alarm. What a worker holds is left to it: it sets marks aside when a call would
    start. Returns how many were set aside.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, walked.edition)
        cursor.execute(
            """
            SELECT batch.id FROM batch
            WHERE edition_id = %(edition)s AND state IN ('ready', 'paused')
              AND EXISTS (SELECT FROM delivery WHERE batch_id = batch.id AND outcome = 'waiting'
                            AND (sent_at IS NOT NULL OR provider_message_id IS NOT NULL))
            ORDER BY id FOR UPDATE SKIP LOCKED
            """,
            {"edition": walked.edition},
        )
        batches = [row[0] for row in cursor.fetchall()]
        aside = 0
        for batch in batches:
            aside += quarantine_marked(cursor, walked.edition, batch=batch)
            end_settled_batch(cursor, batch)
    return aside


# --- Going on -------------------------------------------------------------------------------------


def count_duplicates(walked: EditionRecord) -> int:
    """How many copies were accepted on top of the first, as the alarms say."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM alarm WHERE edition_id = %s AND kind = %s",
            [walked.edition, Alarm.Kind.ACCEPTED_TWICE.value],
        )
        (count,) = cursor.fetchone()
    return int(count)


def end_reconciliation(walked: EditionRecord) -> bool:
    """
    The provider's record is in the books: the edition becomes what it was before.

    What ran goes on, what a person had paused or a fault had stopped stays so, and what was found
    to have gone out twice waits for a person. False if it was found restored once more meanwhile,
    or if it is scheduled for readers of whom an unreconciled version before it may know more.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, walked.edition)
        cursor.execute(
            """
            UPDATE edition SET unreconciled_since = NULL
            WHERE id = %s AND unreconciled_since = %s
              AND NOT (control = 'scheduled' AND goes_to IN ('reached', 'unreached')
                       AND EXISTS (SELECT FROM edition AS earlier
                                   WHERE earlier.issue_id = edition.issue_id
                                     AND earlier.version < edition.version
                                     AND earlier.unreconciled_since IS NOT NULL))
            """,
            [walked.edition, walked.unreconciled_since],
        )
        if cursor.rowcount == 0:
            return False
        cursor.execute(
            """
            SELECT EXISTS (SELECT FROM alarm WHERE edition_id = %s AND kind = %s
                                               AND raised_at >= %s)
            """,
            [walked.edition, Alarm.Kind.ACCEPTED_TWICE.value, walked.unreconciled_since],
        )
        (was_sent_twice,) = cursor.fetchone()
        if was_sent_twice:
            cursor.execute(
                """
                UPDATE edition SET control_reason = %s
                WHERE id = %s AND control = 'stopped' AND control_reason = %s
                """,
                [
                    Reason.of(ReasonCode.ACCEPTED_TWICE).dumps(),
                    walked.edition,
                    restored(walked.issue).dumps(),
                ],
            )
            return True
        cursor.execute(
            """
            UPDATE edition SET control = 'running', control_reason = '',
                   control_at = clock_timestamp()
            WHERE id = %s AND control = 'stopped' AND control_reason = %s
            """,
            [walked.edition, restored(walked.issue).dumps()],
        )
        if cursor.rowcount:
            resume_batches(cursor, walked.edition)
    return True

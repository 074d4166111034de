"""Load editions to reconcile, and record the acceptances that the provider shows.

This module never sends copies, and never marks a delivery as not sent. A leased batch is left to
its worker, which finds the evidence.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Coalesce, Now

from delivery.models import Alarm, Attempt, Batch, Delivery, Edition, Evidence
from delivery.models.attempt import NO_BATCH
from delivery.monitoring.alarms import raise_alarm
from delivery.queue.batches.batch_state import end_settled_batch, resume_batches
from delivery.queue.quarantine_sent_marks import quarantine_marked
from delivery.queue.record_evidence import record_acceptances, settle_by_evidence
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.rules.call_results import FoundMessage
from delivery.rules.edition_state import restored
from delivery.rules.outcomes import Sent
from delivery.rules.reason import Reason, ReasonCode

READ_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class EditionRecord:
    """An edition to reconcile.

    `backup_not_before` is the time of the last known call before `unreconciled_since`, or of
    publishing if no call is known. If the edition `is_scheduled`, `published_at` is the time of
    scheduling.
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
    """Load an issue's editions, or every edition that may differ from the provider."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT id, issue_id, version, title, stream, begun, unreconciled_since,
                   greatest(begun, (SELECT max(started_at) FROM attempt
                                    WHERE started_at < unreconciled_since)),
                   control IN ('cancelled', 'closed'), control = 'scheduled'
            FROM edition, LATERAL (
                SELECT CASE control WHEN 'scheduled' THEN control_at ELSE published_at END
            ) AS since (begun)
            WHERE deliveries_dropped_at IS NULL
              AND (issue_id = %(issue)s
               OR %(issue)s::uuid IS NULL
                  AND (unreconciled_since IS NOT NULL
                       OR EXISTS (SELECT FROM batch WHERE edition_id = edition.id
                                  AND batch_is_open_1(batch) AND state <> 'done')
                       OR EXISTS (SELECT FROM attempt WHERE edition_id = edition.id
                                    AND started_at > clock_timestamp()
                                                     - make_interval(days => %(days)s))))
            ORDER BY id
            """,
            {"issue": issue, "days": retention_days},
        )
        return [EditionRecord(*row) for row in cursor.fetchall()]


def load_unreconciled_versions(issue: uuid.UUID, before: int) -> list[int]:
    """Load the earlier versions whose audience is unknown after a restore."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT version FROM edition
            WHERE issue_id = %s AND version < %s
              AND (unreconciled_since IS NOT NULL OR NOT is_known_database_1())
            ORDER BY version
            """,
            [issue, before],
        )
        return [row[0] for row in cursor.fetchall()]


def database_time() -> datetime:
    """Read the database's time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def find_last_accepted(stream: str) -> tuple[uuid.UUID, datetime] | None:
    """Find the last accepted call with copies on a stream, if any, and when it began."""
    accepted = Attempt.objects.filter(stream=stream, accepted__gt=0).order_by("-started_at")
    return accepted.exclude(batch_id=NO_BATCH).values_list("id", "started_at").first()


def find_accepted_after(stream: str, after: datetime) -> tuple[uuid.UUID, bool] | None:
    """Find the first call accepted after a time, and whether it is a check mail.

    Calls with a future time are left out: the database's clock was set back after them.
    """
    accepted = Attempt.objects.filter(stream=stream, accepted__gt=0, started_at__lte=Now())
    row = (
        accepted.filter(started_at__gt=after)
        .order_by("started_at")
        .values_list("id", "batch_id")
        .first()
    )
    return (row[0], row[1] == NO_BATCH) if row else None


def _deliveries(record: EditionRecord) -> QuerySet[Delivery]:
    return Delivery.objects.filter(issue_id=record.issue, version=record.version)


def load_recorded(
    record: EditionRecord, recipients: Sequence[int]
) -> dict[int, tuple[str, str | None]]:
    """Load the outcome and the provider's id of each recipient who has a delivery."""
    with connection.cursor() as cursor:
        # Each copy is read by its whole key: OFFSET and LATERAL prevent other plans
        # (record_evidence.py).
        cursor.execute(
            """
            SELECT copy.* FROM unnest(%s::bigint[]) AS wanted (recipient), LATERAL (
                SELECT recipient_id, outcome, provider_message_id FROM delivery
                WHERE issue_id = %s AND version = %s AND recipient_id = wanted.recipient OFFSET 0
            ) AS copy
            """,
            [list(recipients), record.issue, record.version],
        )
        return {recipient: (outcome, message) for recipient, outcome, message in cursor.fetchall()}


def settle_found(record: EditionRecord, news: Sequence[tuple[int, FoundMessage]]) -> int:
    """Record acceptances; return how many deliveries they settle.

    A second acceptance of a delivery stops the edition.
    """
    by_attempt: dict[uuid.UUID | None, list[tuple[int, Sent]]] = defaultdict(list)
    for recipient, listed in sorted(news, key=_earliest_first):
        by_attempt[_attempt(listed)].append((recipient, Sent(listed.message_id, listed.at)))
    with short_transaction() as cursor:
        lock_edition(cursor, record.edition)
        for attempt, acceptances in by_attempt.items():
            record_acceptances(cursor, record.edition, attempt, acceptances, Evidence.Source.LOOKUP)
        return settle_by_evidence(cursor, record.edition, [recipient for recipient, _ in news])


def _earliest_first(found: tuple[int, FoundMessage]) -> tuple[bool, float, str]:
    listed = found[1]
    return listed.at is None, listed.at.timestamp() if listed.at else 0.0, listed.message_id


def _attempt(listed: FoundMessage) -> uuid.UUID | None:
    try:
        return uuid.UUID(hex=listed.attempt)
    except ValueError:
        return None


def iter_recipients(record: EditionRecord, *outcomes: str) -> Iterator[list[tuple[int, datetime]]]:
    """Yield chunks of recipients with one of these outcomes, with their sent times."""
    rows = _deliveries(record).filter(outcome__in=outcomes).order_by("recipient_id")
    recipients = rows.values_list("recipient_id", Coalesce("sent_at", Now()))
    after = 0
    while chunk := list(recipients.filter(recipient_id__gt=after)[:READ_AT_ONCE]):
        yield chunk
        after = chunk[-1][0]


def load_alarmed(record: EditionRecord, keys: Sequence[str]) -> set[str]:
    """Return the keys of deliveries that have a `NOT_AT_PROVIDER` alarm."""
    alarms = Alarm.objects.filter(edition=record.edition, kind=Alarm.Kind.NOT_AT_PROVIDER)
    return set(alarms.filter(about__in=keys).values_list("about", flat=True))


def raise_not_at_provider_alarm(record: EditionRecord, key: str, recipient: int) -> bool:
    """Raise an alarm: a copy has evidence, but the provider does not show this copy.

    Returns False if the alarm already existed.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, record.edition)
        return raise_alarm(
            cursor,
            record.edition,
            Alarm.Kind.NOT_AT_PROVIDER,
            key,
            Reason.of(ReasonCode.NOT_AT_PROVIDER, recipient=recipient),
        )


def quarantine_bare_marks(record: EditionRecord) -> int:
    """Quarantine waiting deliveries with a sent time or provider id; return how many.

    The quarantined deliveries are looked up. A leased batch is left to its worker, which
    quarantines such deliveries before a call.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, record.edition)
        waiting = Delivery.objects.filter(batch=OuterRef("pk"), outcome="waiting")
        marked = waiting.exclude(sent_at=None, provider_message_id=None)
        batches = Batch.objects.filter(
            Exists(marked), edition=record.edition, state__in=("ready", "paused")
        ).order_by("id")
        quarantined = 0
        for batch in batches.select_for_update(skip_locked=True).values_list("id", flat=True):
            quarantined += quarantine_marked(cursor, record.edition, batch=batch)
            end_settled_batch(batch)
    return quarantined


def second_acceptances(record: EditionRecord) -> QuerySet[Alarm]:
    """Select the alarms about copies that were accepted twice."""
    return Alarm.objects.filter(edition=record.edition, kind=Alarm.Kind.ACCEPTED_TWICE)


def end_reconciliation(record: EditionRecord) -> bool:
    """Mark the edition as reconciled; resume it unless a copy was accepted twice.

    Returns False if the database was restored again, or if the audience of a scheduled edition
    depends on an unreconciled version.
    """
    with short_transaction() as cursor:
        lock_edition(cursor, record.edition)
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
            [record.edition, record.unreconciled_since],
        )
        if cursor.rowcount == 0:
            return False
        stopped = Edition.objects.filter(
            pk=record.edition, control="stopped", control_reason=restored(record.issue).dumps()
        )
        if second_acceptances(record).filter(raised_at__gte=record.unreconciled_since).exists():
            stopped.update(control_reason=Reason.of(ReasonCode.ACCEPTED_TWICE).dumps())
        elif stopped.update(control="running", control_reason="", control_at=Now()):
            resume_batches(record.edition)
    return True

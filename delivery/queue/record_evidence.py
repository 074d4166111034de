"""Record the provider's acceptances, and update outcomes and counts.

The row of a settled delivery holds its first acceptance. Every other acceptance becomes a row of
evidence: a webhook before the reply, a reply after the claim was lost, a second copy. The order of
evidence does not matter.

A settling worker locks its batch and not the edition, so this module locks the batch too.
Deliveries are found by their whole key in sub-queries, because a join may scan an index if
statistics are missing.
"""

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from delivery.models import Alarm, Evidence
from delivery.monitoring import delivery_metrics
from delivery.monitoring.alarms import raise_alarm
from delivery.plan_methods import SCANS, plan_without
from delivery.queue.batches.batch_state import withdraw_if_cancelled
from delivery.queue.edition_control import pass_probe_on, stop
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import Sent
from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)

# An edition whose copies are dropped counts as having no copies, even if rows remain.
_OF_EDITION = """
    delivery.issue_id = (SELECT issue_id FROM edition
                         WHERE edition.id = %(edition)s AND deliveries_dropped_at IS NULL)
    AND delivery.version = (SELECT version FROM edition WHERE edition.id = %(edition)s)
"""

# OFFSET makes PostgreSQL run each of these sub-queries once per delivery, by the key. With
# `recipient_id = ANY(…)`, a server before 17 may read all copies of the edition.
_THEIR_DELIVERIES = f"""
    (SELECT DISTINCT unnest(%(recipients)s::bigint[])) AS wanted (recipient), LATERAL (
        SELECT * FROM delivery WHERE {_OF_EDITION} AND delivery.recipient_id = wanted.recipient
        OFFSET 0
    ) AS delivery"""  # noqa: S608 -- constants
_ITS_DELIVERY = f"""LATERAL (
        SELECT * FROM delivery WHERE {_OF_EDITION} AND delivery.recipient_id = acceptance.recipient
        OFFSET 0
    ) AS delivery"""  # noqa: S608 -- constants
_ITS_EVIDENCE = """LATERAL (
        SELECT evidence.id, evidence.provider_message_id AS message_id, source, attempt,
               accepted_at, seen_at
        FROM evidence
        WHERE evidence.issue_id = delivery.issue_id
          AND evidence.recipient_id = delivery.recipient_id
          AND evidence.version = delivery.version
        OFFSET 0
    ) AS seen"""


def record_acceptances(
    cursor: CursorWrapper,
    edition: int,
    attempt: UUID | None,
    acceptances: Sequence[tuple[int, Sent]],
    source: Evidence.Source,
) -> int:
    """Record `acceptances` (recipient, acceptance); return how many are new.

    A second acceptance of a delivery raises an alarm and stops the edition, once. An acceptance
    without a delivery in the edition is logged. The caller has locked the edition, but no batch.
    """
    if not acceptances:
        return 0
    recipients = [recipient for recipient, _ in acceptances]
    values: dict[str, Any] = {
        "edition": edition,
        "recipients": recipients,
        "messages": [sent.message_id for _, sent in acceptances],
        "times": [sent.at for _, sent in acceptances],
    }
    _lock_batches(cursor, edition, recipients)
    cursor.execute(
        f"""
        INSERT INTO evidence (provider_message_id, issue_id, recipient_id, version, attempt,
                              source, accepted_at, seen_at)
        SELECT message_id, issue_id, recipient_id, version, %(attempt)s, %(source)s, at,
               clock_timestamp()
        FROM {_ACCEPTANCES}, {_ITS_DELIVERY}
        WHERE NOT (outcome = 'sent' AND provider_message_id = message_id)
        ON CONFLICT DO NOTHING
        """,  # noqa: S608 -- constants
        values | {"attempt": attempt, "source": source.value},
    )
    new = int(cursor.rowcount)
    if new < len(acceptances):
        _log_contradictions(cursor, edition, values)
    raise_duplicate_alarms(cursor, edition, recipients)
    return new


_ACCEPTANCES = """unnest(%(messages)s::text[], %(recipients)s::bigint[], %(times)s::timestamptz[])
            AS acceptance (message_id, recipient, at)"""


def _lock_batches(cursor: CursorWrapper, edition: int, recipients: Sequence[int]) -> None:
    cursor.execute(
        f"""
        SELECT FROM batch
        WHERE id = ANY (ARRAY(SELECT batch_id FROM {_THEIR_DELIVERIES}))
        ORDER BY id FOR NO KEY UPDATE
        """,  # noqa: S608 -- a constant
        {"edition": edition, "recipients": list(recipients)},
    )


def _log_contradictions(cursor: CursorWrapper, edition: int, values: dict[str, Any]) -> None:
    """Log acceptances that contradict the record.

    No error is raised, so that the other acceptances are kept.
    """
    cursor.execute(
        f"""
        SELECT message_id, recipient
        FROM edition, {_ACCEPTANCES}, LATERAL (
            SELECT issue_id, version, recipient_id FROM evidence
            WHERE provider_message_id = message_id
            OFFSET 0
        ) AS kept
        WHERE edition.id = %(edition)s AND deliveries_dropped_at IS NULL
          AND (kept.issue_id, kept.version, kept.recipient_id)
              <> (edition.issue_id, edition.version, recipient)
        """,  # noqa: S608 -- a constant
        values,
    )
    for message_id, recipient in cursor.fetchall():
        logger.critical(
            "message %s was reported for reader %d of edition %d, but its id is already evidence "
            "for another delivery; provider ids should be unique",
            message_id,
            recipient,
            edition,
        )
    cursor.execute(
        f"""
        SELECT recipient FROM edition, {_ACCEPTANCES}
        WHERE edition.id = %(edition)s AND deliveries_dropped_at IS NULL
          AND NOT EXISTS (SELECT FROM {_ITS_DELIVERY})
        """,  # noqa: S608 -- constants
        values,
    )
    for (recipient,) in cursor.fetchall():
        logger.warning(
            "an acceptance names reader %d, who has no copy of edition %d", recipient, edition
        )


def treat_as_sent(edition: int) -> int | None:
    """Count the unknown deliveries that wait for a decision as sent; return how many.

    Returns None if the edition is closed. The decision takes the place of the provider's id. A
    reader whose copy was lost gets none; the operator accepts that risk.
    """
    with short_transaction() as cursor:
        if lock_edition(cursor, edition) == "closed":
            return None
        cursor.execute(
            """
            SELECT issue_id, version, recipient_id FROM delivery
            WHERE outcome = 'unknown' AND batch_id = ANY (ARRAY(
                SELECT id FROM batch
                WHERE edition_id = %s AND batch_is_open_1(batch) AND state = 'parked'))
            """,
            [edition],
        )
        decided = [
            (recipient, Sent(f"decided:{DeliveryKey(issue, version, recipient)}", None))
            for issue, version, recipient in cursor.fetchall()
        ]
        recipients = [recipient for recipient, _ in decided]
        record_acceptances(cursor, edition, None, decided, Evidence.Source.OPERATOR)
        settle_by_evidence(cursor, edition, recipients)
    return len(decided)


def raise_duplicate_alarms(cursor: CursorWrapper, edition: int, recipients: Sequence[int]) -> int:
    """Raise an alarm for every second copy of these deliveries.

    Stop the edition if an alarm is new, and return the number of new alarms. A delivery with n
    accepted copies has n - 1 alarms, so a repeated acceptance raises no alarm. The caller has
    locked the edition.
    """
    cursor.execute(
        f"""
        -- An operator's decision is no acceptance, so a report after it is no second copy.
        SELECT recipient_id, max(own), array_agg(message_id ORDER BY seen.id)
        FROM {_THEIR_DELIVERIES}, {_ITS_EVIDENCE},
             LATERAL (SELECT CASE WHEN delivery.evidence IS DISTINCT FROM 'operator'
                                  THEN provider_message_id END) AS accepted (own)
        WHERE seen.source <> 'operator'
        GROUP BY recipient_id
        HAVING count(*) > 1 OR max(message_id) <> max(own)
        ORDER BY recipient_id
        """,  # noqa: S608 -- constants
        {"edition": edition, "recipients": list(recipients)},
    )
    new = 0
    for recipient, own, others in cursor.fetchall():
        # The provider's ids in the order of the evidence, each once. The delivery's own id comes
        # first, if it has one.
        ids = list(dict.fromkeys([own, *others] if own else others))
        new += _raise_for(cursor, edition, recipient, ids)
    if new:
        stop(cursor, edition, Reason.of(ReasonCode.ACCEPTED_TWICE))
    return new


def _raise_for(cursor: CursorWrapper, edition: int, recipient: int, ids: Sequence[str]) -> int:
    alarms = Alarm.objects.filter(edition=edition, kind=Alarm.Kind.ACCEPTED_TWICE, about__in=ids)
    raised = set(alarms.values_list("about", flat=True))
    missing = [message_id for message_id in ids[1:] if message_id not in raised]
    missing = missing[: len(ids) - 1 - len(raised)]
    for message_id in missing:
        raise_alarm(
            cursor,
            edition,
            Alarm.Kind.ACCEPTED_TWICE,
            message_id,
            Reason.of(ReasonCode.SECOND_COPY, recipient=recipient, message_ids=list(ids)),
        )
    return len(missing)


def unapplied_evidence(cursor: CursorWrapper, batch: int) -> list[int]:
    """Find the recipients in a batch with evidence that is not applied yet.

    Call this in the transaction that gives up a lease. Evidence that came during the lease was left
    to the worker that held the lease.
    """
    cursor.execute("SELECT unapplied_evidence_1(%s)", [batch])
    return sorted(row[0] for row in cursor.fetchall())


def apply_evidence(cursor: CursorWrapper, edition: int, recipients: Sequence[int]) -> None:
    """Apply what `unapplied_evidence` found. The caller has locked the edition."""
    raise_duplicate_alarms(cursor, edition, recipients)
    settle_by_evidence(cursor, edition, recipients)


def settle_by_evidence(cursor: CursorWrapper, edition: int, recipients: Sequence[int]) -> int:
    """Settle as sent each of these deliveries that has evidence; return how many.

    The caller has locked the edition. A leased batch is left to its holder, which reads
    `unapplied_evidence`.
    """
    cursor.execute(
        f"""
        SELECT id FROM batch
        WHERE state NOT IN ('claimed', 'sending', 'looking_up')
          AND id = ANY (ARRAY(SELECT batch_id FROM {_THEIR_DELIVERIES}, {_ITS_EVIDENCE}
                              WHERE outcome <> 'sent'))
        ORDER BY id FOR NO KEY UPDATE
        """,  # noqa: S608 -- constants
        {"edition": edition, "recipients": list(recipients)},
    )
    batches = [row[0] for row in cursor.fetchall()]
    if not batches:
        return 0
    with plan_without(cursor, *SCANS):
        cursor.execute(
            _SETTLE, {"edition": edition, "batches": batches, "recipients": list(recipients)}
        )
        (settled,) = cursor.fetchone()
    delivery_metrics.count_deliveries({"sent": int(settled)})
    pass_probe_on(cursor, edition)
    withdraw_if_cancelled(cursor, edition)
    return int(settled)


_BEFORE = ("waiting", "unknown", "suppressed", "withdrawn", "failed")

# Settle in one statement, so that outcomes, counts and states always agree. A delivery that has a
# provider id keeps it. Any other delivery takes the id of its earliest evidence. The update reads
# whole batches and takes each proof from one JSON object. A join could read all deliveries
# (queue/batches/write_outcomes.py).
_PROOF = "proofs -> recipient_id::text ->>"
_SETTLE = f"""
    WITH proof AS (
        SELECT DISTINCT ON (recipient_id) recipient_id, outcome, missed, message_id, source,
               attempt, coalesce(accepted_at, seen_at) AS at
        FROM {_THEIR_DELIVERIES}, {_ITS_EVIDENCE}
        WHERE batch_id = ANY(%(batches)s) AND outcome <> 'sent'
        ORDER BY recipient_id, (message_id = provider_message_id) DESC NULLS LAST, seen.id
    ), settled AS (
        UPDATE delivery SET outcome = 'sent', provider_message_id = {_PROOF} 0,
               evidence = {_PROOF} 1, sent_at = ({_PROOF} 2)::timestamptz,
               reason = NULL, missed = NULL
        FROM (SELECT jsonb_object_agg(recipient_id, jsonb_build_array(
                         message_id, source, at, outcome, missed, attempt)) AS proofs
              FROM proof) AS proved
        WHERE batch_id = ANY(%(batches)s) AND proofs ? recipient_id::text
        RETURNING batch_id, {_PROOF} 3 AS was, ({_PROOF} 4)::boolean AS was_missed,
                  ({_PROOF} 5)::uuid AS attempt
    ), change AS (
        SELECT batch_id, count(*) AS sent,
               {", ".join(f"count(*) FILTER (WHERE was = '{name}') AS {name}" for name in _BEFORE)},
               count(*) FILTER (WHERE was_missed) AS missed
        FROM settled GROUP BY batch_id
    ), proved AS (
        SELECT attempt AS id, count(*) AS copies FROM settled
        WHERE attempt IS NOT NULL GROUP BY attempt
    ), credited AS (
        UPDATE attempt SET accepted = least(messages, accepted + copies)
        FROM proved
        WHERE attempt.id = ANY (ARRAY(SELECT id FROM proved)) AND attempt.id = proved.id
          AND edition_id = %(edition)s
    ), changed AS (
        SELECT batch.id, batch.unknown - change.unknown > 0 AS is_unknown,
               batch.waiting - change.waiting > 0 AS waits,
               batch.state IN ('unknown', 'parked') AND batch.unknown = change.unknown AS freed
        FROM batch JOIN change ON change.batch_id = batch.id
        WHERE batch.id = ANY(%(batches)s)
    ), followed AS (
        UPDATE batch SET
            state = CASE WHEN NOT is_unknown AND NOT waits THEN 'done'
                         WHEN NOT freed THEN state
                         WHEN (SELECT control FROM edition WHERE id = %(edition)s) = 'running'
                         THEN 'ready' ELSE 'paused' END,
            due_at = CASE WHEN freed THEN clock_timestamp() ELSE due_at END,
            unknown_since = CASE WHEN is_unknown THEN unknown_since END,
            attempt = CASE WHEN is_unknown THEN attempt END,
            lookups = CASE WHEN is_unknown THEN lookups ELSE 0 END,
            reason = CASE WHEN freed OR NOT (is_unknown OR waits) THEN '' ELSE reason END,
            {", ".join(f"{name} = batch.{name} - change.{name}" for name in (*_BEFORE, "missed"))},
            sent = batch.sent + change.sent
        FROM change JOIN changed ON changed.id = change.batch_id
        WHERE batch.id = ANY(%(batches)s) AND batch.id = change.batch_id
    )
    SELECT count(*) FROM settled
"""  # noqa: S608 -- constants

"""
Keeps the provider's events as they came, and applies them: first kept, then applied.

Each half is a transaction of its own. A process that dies in between leaves an event that every
worker's chores pick up. Applying one twice, or in another order, ends the same.
"""

from __future__ import annotations

import hashlib
import logging
import traceback

from django.db import OperationalError, connection
from django.db.backends.utils import CursorWrapper

from delivery import webhook_event
from delivery.models import Evidence
from delivery.queue.evidence import record_acceptances, settle_by_evidence
from delivery.queue.short_transaction import short_transaction
from delivery.queue.split import lock_edition
from delivery.settlement import Sent
from delivery.webhook_event import SeenAccepted

logger = logging.getLogger(__name__)

AT_A_TIME = 100
# Postmark waits some ten seconds for its answer. What takes longer is left to the chores.
LONGEST_WAIT_S = 3
# After so many failures that were not the database's an event is set aside.
TRIES = 5


def keep(body: bytes) -> int | None:
    """
    Keep an event for good; its id, or None if the same body was kept before.

    Raises `django.db.Error` if it could not be kept.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO provider_event (body_hash, kind, body) VALUES (%s, %s, %s)
            ON CONFLICT (body_hash) DO NOTHING RETURNING id
            """,
            [hashlib.sha256(body).digest(), webhook_event.read(body).kind, body],
        )
        row = cursor.fetchone()
    return int(row[0]) if row else None


def apply_pending() -> int:
    """
    Apply what was kept and not applied, some at a time; how many were. A chore of every worker.

    One that fails does not keep the others from their turn, and is set aside in the end. Raises
    `OperationalError` at the first that the database does not let through; in no order, so that
    the same one does not stand before the others every time.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT id FROM provider_event WHERE applied_at IS NULL AND failures < %s
            ORDER BY random() LIMIT %s
            """,
            [TRIES, AT_A_TIME],
        )
        waiting = [row[0] for row in cursor.fetchall()]
    return sum(apply(event) for event in waiting)


def apply(event: int) -> bool:
    """
    Apply one event and put on record that it was. False if it was applied, is being applied by
    somebody else, or could not be.

    Raises `OperationalError` if the database was not there or kept it waiting.
    """
    try:
        with short_transaction() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LONGEST_WAIT_S}s'")
            cursor.execute(
                """
                SELECT body, received_at FROM provider_event WHERE id = %s AND applied_at IS NULL
                FOR UPDATE SKIP LOCKED
                """,
                [event],
            )
            row = cursor.fetchone()
            if row is None:
                return False
            body, received_at = row
            accepted = webhook_event.read(bytes(body)).accepted
            if accepted is not None:
                _apply_acceptance(cursor, accepted.told_at(received_at))
            cursor.execute(
                "UPDATE provider_event SET applied_at = clock_timestamp() WHERE id = %s", [event]
            )
    except OperationalError:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever it is, the others have to go on
        _count_failure(event, error)
        return False
    return True


def _apply_acceptance(cursor: CursorWrapper, accepted: SeenAccepted) -> None:
    key = accepted.delivery
    cursor.execute(
        """
        SELECT edition.id, outcome = 'sent' AND provider_message_id = %s
        FROM edition JOIN delivery USING (issue_id, version)
        WHERE issue_id = %s AND version = %s AND recipient_id = %s
        """,
        [accepted.message_id, key.issue, key.version, key.recipient],
    )
    row = cursor.fetchone()
    if row is None:
        # Mail of another system on the same server, or of a database that is not this one.
        return
    edition, is_known = row
    if is_known:
        # The ordinary case, once for every copy: nothing is locked, nothing written.
        return
    lock_edition(cursor, edition)
    record_acceptances(
        cursor,
        edition,
        accepted.attempt,
        [(key.recipient, Sent(accepted.message_id, accepted.by))],
        Evidence.Source.WEBHOOK,
    )
    settle_by_evidence(cursor, edition, [key.recipient])


def _count_failure(event: int, error: Exception) -> None:
    """The error's own words may repeat a row with its address, so they are not logged."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE provider_event SET failures = failures + 1 WHERE id = %s RETURNING failures",
            [event],
        )
        (failures,) = cursor.fetchone()
    place = traceback.extract_tb(error.__traceback__)[-1]
    logger.error(
        "event %d could not be applied: %s in %s, line %s; %s",
        event,
        type(error).__name__,
        place.filename,
        place.lineno,
        "it is set aside" if failures >= TRIES else "it is tried again",
    )

"""
Keeps the provider's events as they came, and applies them: first kept, then applied.

Each step is a transaction of its own, and each can be done again: a process that dies in between
leaves an event that every worker's chores pick up. Applying one twice, or in another order, ends
the same. What it says of a copy is written before what it says of a person, each without holding
the other: a person who signs up holds their own row and waits for a batch's.
"""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import OperationalError, connection
from django.db.backends.utils import CursorWrapper

from delivery import log_context
from delivery.feedback.delivery_events import (
    exists_or_dropped,
    find_delivery_by_message,
    is_dropped,
    record_bounced,
    record_complained,
    record_delivered,
)
from delivery.feedback.provider_suppressions import save_latest
from delivery.feedback.suppression_changes import was_requested_by_us
from delivery.hooks import readers
from delivery.mail.test_letter import TEST_RECIPIENT
from delivery.models import Evidence
from delivery.postmark import webhook_event
from delivery.postmark.provider_events import (
    Bounced,
    BounceMeaning,
    Delivered,
    ProviderEvent,
    Reactivated,
    Suppressed,
    received_by,
)
from delivery.postmark.webhook_event import Acceptance, WebhookEvent
from delivery.queue.batches.split import lock_edition
from delivery.queue.evidence import record_acceptances, settle_by_evidence
from delivery.queue.short_transaction import short_transaction
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import Sent

logger = logging.getLogger(__name__)

# Events that a worker reads at a time. A complaint that arrives meanwhile is next after them.
READ_AT_ONCE = 500
# Postmark waits some ten seconds for its answer. Slower events are left to the workers.
MAX_LOCK_WAIT_S = 3.0
# The limit for later locks, once a worker has waited that long for one. Most are held for less.
MIN_LOCK_WAIT_S = 0.01
# Workers leave a new event alone for this long: the process that stored it applies it at once.
MIN_AGE_S = 5.0
# After so many failures that were not the database's an event is set aside.
MAX_FAILURES = 5


# --- Keeping --------------------------------------------------------------------------------------


def store(body: bytes, trace: str | None = None) -> int | None:
    """
    Keep an event for good; its id, or None if the same body, or another under the same `trace`,
    was kept before.

    Raises `django.db.Error` if it could not be kept.
    """
    kept = store_all([body], [trace])
    return kept[0] if kept else None


def store_all(bodies: Sequence[bytes], traces: Sequence[str | None] | None = None) -> list[int]:
    """Keep several in one statement; the ids of those that are new, in their order."""
    read = [webhook_event.parse_webhook(body) for body in bodies]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO provider_event (body_hash, kind, body, trace, address_key)
            SELECT * FROM unnest(%s::bytea[], %s::text[], %s::bytea[], %s::text[], %s::text[])
            ON CONFLICT DO NOTHING RETURNING id
            """,
            [
                [hashlib.sha256(body).digest() for body in bodies],
                [event.kind for event in read],
                list(bodies),
                list(traces or [None] * len(bodies)),
                [event.fact.address_key if event.fact else event.address_key for event in read],
            ],
        )
        return sorted(row[0] for row in cursor.fetchall())


# --- Applying -------------------------------------------------------------------------------------


def load_failed_events() -> list[tuple[int, str, datetime]]:
    """What could not be applied and waits for a person: id, kind and when it came, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT id, kind, received_at FROM provider_event
            WHERE applied_at IS NULL AND failures >= %s ORDER BY id
            """,
            [MAX_FAILURES],
        )
        return [(event, kind, at) for event, kind, at in cursor.fetchall()]


def retry_failed_events() -> int:
    """Have everything that was set aside tried again; how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE provider_event SET failures = 0 WHERE applied_at IS NULL AND failures >= %s",
            [MAX_FAILURES],
        )
        return int(cursor.rowcount)


def run_background_task(is_stopping: Callable[[], bool]) -> bool:
    """Apply pending events; return whether any was applied. Every worker repeats it."""
    return apply_pending(is_stopping, left_alone_s=MIN_AGE_S) > 0


def is_due() -> bool:
    """Whether an event waits to be applied, here or elsewhere."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM provider_event WHERE applied_at IS NULL AND failures < %s)",
            [MAX_FAILURES],
        )
        return bool(cursor.fetchone()[0])


def apply_pending(
    is_stopping: Callable[[], bool] = lambda: False, *, left_alone_s: float = 0.0
) -> int:
    """
    Apply pending events, complaints first, the rest as they came; return how many.

    Events that came less than `left_alone_s` seconds ago are left alone. Each event is tried once.
    One that fails, or needs a lock that somebody holds, does not hold up those behind it; a failing
    one is set aside in the end. Only the first lock is waited for long. Raises `OperationalError`
    if the database is away.
    """
    applied, wait_s = 0, MAX_LOCK_WAIT_S
    after = {True: 0, False: 0}
    while waiting := _waiting(after[True], after[False], left_alone_s):
        for event, is_complaint in waiting:
            if is_stopping():
                return applied
            after[is_complaint] = event
            with log_context.scope():
                try:
                    applied += apply(event, wait_s=wait_s)
                except OperationalError as error:
                    if not connection.is_usable():
                        raise
                    if wait_s == MAX_LOCK_WAIT_S:
                        said = type(error.__cause__).__name__
                        logger.warning(
                            "event %d is applied later: the database said %s", event, said
                        )
                    wait_s = MIN_LOCK_WAIT_S
    return applied


def _waiting(complaint: int, other: int, left_alone_s: float) -> list[tuple[int, bool]]:
    """The next events to apply, after these two, and whether each is a complaint."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT id, kind = 'SpamComplaint' AS is_complaint FROM provider_event
            WHERE applied_at IS NULL AND failures < %s
              AND id > CASE kind WHEN 'SpamComplaint' THEN %s ELSE %s END
              AND received_at <= clock_timestamp() - make_interval(secs => %s)
            ORDER BY is_complaint DESC, id LIMIT %s
            """,
            [MAX_FAILURES, complaint, other, left_alone_s, READ_AT_ONCE],
        )
        return [(event, is_complaint) for event, is_complaint in cursor.fetchall()]


def apply(event: int, *, wait_s: float = MAX_LOCK_WAIT_S) -> bool:
    """
    Apply one event and put on record that it was. False if it was applied, is being applied by
    somebody else, or could not be.

    Raises `OperationalError` if the database was not there, or a lock was not free within `wait_s`.
    """
    try:
        return _apply(event, wait_s)
    except OperationalError:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever it is, the others have to go on
        _count_failure(event, error)
        return False


def _apply(event: int, wait_s: float) -> bool:
    with short_transaction() as cursor:
        told = _lock(cursor, event, wait_s)
        if told is None:
            return False
        said, received_at = told
        _bind_copy(said)
        is_here = said.accepted is not None and _apply_acceptance(
            cursor, said.accepted.told_at(received_at)
        )
        fact = _fact(cursor, said, received_at)
        if fact is not None:
            _apply_to_the_copy(cursor, fact)
        if fact is None or isinstance(fact, Delivered) or said.is_of_a_test:
            # A person's state does not hang on it, and it comes once for every copy.
            _mark_applied(cursor, event)
            copy = _copy_told_of(said)
            if copy is not None:
                address = said.fact.address_key if said.fact else said.address_key
                _drop_if_forgotten(cursor, event, copy, address, is_here=is_here)
            return True
    with short_transaction() as cursor:
        if _lock(cursor, event, wait_s) is None:
            return False
        readers.registered().told([fact])
        _mark_applied(cursor, event)
    return True


def _lock(cursor: CursorWrapper, event: int, wait_s: float) -> tuple[WebhookEvent, datetime] | None:
    cursor.execute(f"SET LOCAL lock_timeout = '{wait_s}s'")
    cursor.execute(
        """
        SELECT body, received_at FROM provider_event WHERE id = %s AND applied_at IS NULL
        FOR UPDATE SKIP LOCKED
        """,
        [event],
    )
    row = cursor.fetchone()
    return (webhook_event.parse_webhook(bytes(row[0])), row[1]) if row else None


def _mark_applied(cursor: CursorWrapper, event: int) -> None:
    cursor.execute(
        "UPDATE provider_event SET applied_at = clock_timestamp() WHERE id = %s", [event]
    )


def _copy_told_of(said: WebhookEvent) -> DeliveryKey | None:
    """The copy that an event names itself, also one that says nothing of a person's state."""
    if said.fact is not None:
        return said.fact.delivery
    return said.accepted.delivery if said.accepted is not None else None


def _bind_copy(said: WebhookEvent) -> None:
    """From here on every line of the log says which copy the event is about, never whose."""
    key = _copy_told_of(said)
    if key is not None:
        log_context.bind(issue=key.issue, version=key.version)
    if said.accepted is not None:
        log_context.bind(attempt=said.accepted.attempt)


def _drop_if_forgotten(
    cursor: CursorWrapper, event: int, key: DeliveryKey, address: str, *, is_here: bool
) -> None:
    """
    The reader of this copy was erased before it came, and it would bring the address back.

    Where the copy is not kept any more nobody can say whose it was: then it stays only if somebody
    with that address is on the list. `is_here`: the copy was just seen, as it is ordinarily.
    """
    if not is_here and is_dropped(cursor, key):
        if readers.registered().reader_at(address) is None:
            cursor.execute("DELETE FROM provider_event WHERE id = %s", [event])
        return
    cursor.execute(
        """
        DELETE FROM provider_event WHERE id = %s AND EXISTS (
            SELECT FROM delivery
            WHERE issue_id = %s AND recipient_id = %s AND version = %s AND address = '')
        """,
        [event, key.issue, key.recipient, key.version],
    )


# --- What it says of an address -------------------------------------------------------------------


def _fact(cursor: CursorWrapper, said: WebhookEvent, received_at: datetime) -> ProviderEvent | None:
    """The fact as it is applied: at a time, about a copy of ours or none, and whose wish it was."""
    if said.fact is None:
        return None
    fact = received_by(said.fact, received_at)
    if not isinstance(fact, Delivered):
        # Whether a copy of ours is meant: mail of another system may go over the same server.
        fact = replace(fact, delivery=_copy(cursor, fact, said))
    if isinstance(fact, Suppressed) and fact.origin == "Customer":
        fact = replace(fact, is_our_own=was_requested_by_us(cursor, fact))
    return fact


def _copy(cursor: CursorWrapper, fact: ProviderEvent, said: WebhookEvent) -> DeliveryKey | None:
    if fact.delivery is not None:
        return fact.delivery if exists_or_dropped(cursor, fact.delivery) else None
    if said.issue is None or fact.message_id is None:
        return None
    if said.is_of_a_test:
        return find_delivery_by_message(cursor, said.issue, TEST_RECIPIENT, fact.message_id)
    reader = readers.registered().reader_at(fact.address)
    return find_delivery_by_message(cursor, said.issue, reader, fact.message_id) if reader else None


def _apply_to_the_copy(cursor: CursorWrapper, fact: ProviderEvent) -> None:
    """
    What it says of the copy, and of the provider's own list. The edition's lock comes first: what
    is counted needs it, and everybody takes it before anything else.
    """
    at, key = fact.at, fact.delivery
    assert at is not None  # noqa: S101 -- told_at sets it
    match fact:
        case Delivered() if key is not None:
            record_delivered(cursor, key, at)
        case Bounced() | Suppressed() if key is not None:
            match fact.meaning:
                case BounceMeaning.BOUNCED | BounceMeaning.COUNTED:
                    record_bounced(cursor, key, at)
                case BounceMeaning.COMPLAINED:
                    record_complained(cursor, key, at)
    if isinstance(fact, Suppressed | Reactivated):
        save_latest(cursor, fact)


# --- What it says of an acceptance ----------------------------------------------------------------


def _apply_acceptance(cursor: CursorWrapper, accepted: Acceptance) -> bool:
    """Keep it and settle by it, where it is news. False if there is no such copy."""
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
        # Mail of another system on the same server, or of a database that is not this one; or its
        # edition's copies are dropped.
        return False
    edition, is_known = row
    if is_known:
        # The ordinary case, once for every copy: nothing is locked, nothing written.
        return True
    lock_edition(cursor, edition)
    record_acceptances(
        cursor,
        edition,
        accepted.attempt,
        [(key.recipient, Sent(accepted.message_id, accepted.by))],
        Evidence.Source.WEBHOOK,
    )
    settle_by_evidence(cursor, edition, [key.recipient])
    return True


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
        "it is set aside" if failures >= MAX_FAILURES else "it is tried again",
    )

"""Store the provider's events as received, then apply them.

An event is applied in two transactions: first its delivery, then its reader. A sign-up locks its
reader's row while it waits for a batch's row, so a single transaction here could deadlock with the
sign-up.
"""

import hashlib
import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import OperationalError, connection
from django.db.backends.utils import CursorWrapper
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Now

from delivery import log_context
from delivery.feedback import lift_for_mail, record_delivery_event
from delivery.feedback.find_delivery_of_event import EventDelivery, Scope, find_delivery, scope_of
from delivery.feedback.latest_suppression_entries import save_latest
from delivery.feedback.send_suppression_changes import was_requested_by_us
from delivery.hooks import reader_hooks
from delivery.mail.mark_test_letter import TEST_RECIPIENT
from delivery.models import Alarm, Evidence, ProviderEvent
from delivery.monitoring.alarms import raise_alarm
from delivery.monitoring.database_fault import stops_all_writes
from delivery.provider.events import (
    Acceptance,
    AddressEvent,
    AddressReactivated,
    AddressSuppressed,
    Bounced,
    BounceMeaning,
    Delivered,
    WebhookEvent,
    received_by,
)
from delivery.provider.from_settings import provider_class
from delivery.queue.record_evidence import record_acceptances, settle_by_evidence
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import Sent
from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)

# A worker reads this many events at once. A complaint that arrives meanwhile is applied after these
# events.
READ_AT_ONCE = 500
# Providers wait about ten seconds for an answer. Events that take longer to apply are left to the
# workers.
MAX_LOCK_WAIT_S = 3.0
# If one lock was not free in time, the wait for each later lock is at most this long.
MIN_LOCK_WAIT_S = 0.01
# Workers skip younger events, because the process that stored them applies them at once.
MIN_AGE_S = 5.0
# After this many failures an event waits for an operator. Database errors do not count.
MAX_FAILURES = 5


def store(body: bytes, trace: str | None = None) -> int | None:
    """Store an event; return its id, or None if the event was stored before.

    Raises `django.db.Error`.
    """
    return next(iter(store_all([body], [trace])), None)


def store_all(bodies: Sequence[bytes], traces: Sequence[str | None] | None = None) -> list[int]:
    """Store several events in one statement; return the ids of new events, in order."""
    parse = provider_class().parse_webhook
    parsed = [parse(body) for body in bodies]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO provider_event (body_hash, kind, body, trace, address_key)
            SELECT * FROM unnest(%s::bytea[], %s::text[], %s::bytea[], %s::text[], %s::text[])
            ON CONFLICT DO NOTHING RETURNING id
            """,
            [
                [hashlib.sha256(body).digest() for body in bodies],
                [event.kind for event in parsed],
                list(bodies),
                list(traces or [None] * len(bodies)),
                [event.address_key for event in parsed],
            ],
        )
        return sorted(row[0] for row in cursor.fetchall())


def failed_events() -> QuerySet[ProviderEvent]:
    """Select the events that wait for an operator.

    Workers try an event again once its failures are reset to 0.
    """
    return ProviderEvent.objects.filter(applied_at=None, failures__gte=MAX_FAILURES)


def apply_pending_events(is_stopping: Callable[[], bool]) -> bool:
    """Apply pending events; return whether any was applied.

    Every worker calls this function repeatedly.
    """
    return apply_pending(is_stopping, min_age_s=MIN_AGE_S) > 0


def waiting() -> list[QuerySet[ProviderEvent]]:
    """Select the events that wait to be applied."""
    return [ProviderEvent.objects.filter(applied_at=None, failures__lt=MAX_FAILURES)]


def apply_pending(
    is_stopping: Callable[[], bool] = lambda: False, *, min_age_s: float = 0.0
) -> int:
    """Apply pending events of at least `min_age_s`, complaints first; return how many.

    After one lock was not free in time, each further lock is tried only briefly. Raises
    `django.db.Error` if the database is unavailable or accepts no writes.
    """
    applied, wait_s = 0, MAX_LOCK_WAIT_S
    after = {True: 0, False: 0}
    while pending := _load_pending(after[True], after[False], min_age_s):
        for event_id, is_complaint in pending:
            if is_stopping():
                return applied
            after[is_complaint] = event_id
            with log_context.scope():
                try:
                    applied += apply(event_id, wait_s=wait_s)
                except OperationalError as error:
                    if stops_all_writes(error) or not connection.is_usable():
                        raise
                    if wait_s == MAX_LOCK_WAIT_S:
                        logger.warning(
                            "event %d is applied later; the database reported %s",
                            event_id,
                            type(error.__cause__).__name__,
                        )
                    wait_s = MIN_LOCK_WAIT_S
    return applied


def _load_pending(complaint: int, other: int, min_age_s: float) -> list[tuple[int, bool]]:
    is_complaint = Q(kind="SpamComplaint")
    (pending,) = waiting()
    pending = pending.filter(
        is_complaint & Q(pk__gt=complaint) | ~is_complaint & Q(pk__gt=other),
        received_at__lte=Now() - timedelta(seconds=min_age_s),
    )
    found = pending.annotate(is_complaint=ExpressionWrapper(is_complaint, BooleanField()))
    rows = found.order_by("-is_complaint", "pk").values_list("pk", "is_complaint")
    return list(rows[:READ_AT_ONCE])


def apply(event_id: int, *, wait_s: float = MAX_LOCK_WAIT_S) -> bool:
    """Apply one event; False if it was applied before, is being applied, or failed.

    Raises `django.db.Error` if the database is unavailable or accepts no writes, or a lock is not
    free within `wait_s`.
    """
    try:
        return _apply(event_id, wait_s)
    except OperationalError:
        raise
    except Exception as error:
        if stops_all_writes(error):
            raise
        # Do not raise this error, because the other events must still be applied.
        _count_failure(event_id, error)
        return False


def _apply(event_id: int, wait_s: float) -> bool:
    with short_transaction() as cursor:
        locked = _lock(cursor, event_id, wait_s)
        if locked is None:
            return False
        parsed, received_at = locked
        if parsed.delivery is not None:
            log_context.bind(issue=parsed.delivery.issue, version=parsed.delivery.version)
        if parsed.accepted is not None:
            log_context.bind(attempt=parsed.accepted.attempt)
        key = parsed.delivery or _find_key(parsed)
        delivery = find_delivery(cursor, key) if key is not None else None
        scope = scope_of(parsed, delivery)
        if scope in (Scope.OTHER_STREAM, Scope.OTHER_ADDRESS):
            _ignore(cursor, event_id, delivery if scope is Scope.OTHER_ADDRESS else None)
            _delete_if_of_nobody(event_id, parsed.address_key)
            return True
        if delivery is not None and parsed.accepted is not None:
            _apply_acceptance(cursor, delivery, parsed.accepted, received_at)
        event = _address_event(parsed, delivery, scope, received_at)
        if event is not None:
            _apply_to_delivery(cursor, event)
        if event is None or isinstance(event, Delivered) or parsed.is_of_a_test:
            _mark_applied(event_id)
            if delivery is not None:
                _delete_if_erased(event_id, delivery, parsed.address_key)
            return True
    with short_transaction() as cursor:
        if _lock(cursor, event_id, wait_s) is None:
            return False
        reader_hooks.registered().apply_events([event])
        _mark_applied(event_id)
    return True


def _lock(
    cursor: CursorWrapper, event_id: int, wait_s: float
) -> tuple[WebhookEvent, datetime] | None:
    cursor.execute(f"SET LOCAL lock_timeout = '{wait_s}s'")
    pending = ProviderEvent.objects.filter(pk=event_id, applied_at=None)
    event = pending.select_for_update(skip_locked=True).first()
    return (provider_class().parse_webhook(bytes(event.body)), event.received_at) if event else None


def _mark_applied(event_id: int) -> None:
    ProviderEvent.objects.filter(pk=event_id).update(applied_at=Now())


def _ignore(cursor: CursorWrapper, event_id: int, delivery: EventDelivery | None) -> None:
    """Mark an event as applied without effect; if `delivery` is set, raise an alarm."""
    if delivery is None:
        logger.info("event %d is of a stream that this newsletter does not use", event_id)
    else:
        raise_alarm(
            cursor,
            delivery.edition,
            Alarm.Kind.OTHER_ADDRESS,
            str(delivery.key),
            Reason.of(ReasonCode.EVENT_FOR_OTHER_ADDRESS, recipient=delivery.key.recipient),
        )
    _mark_applied(event_id)


def _delete_if_of_nobody(event_id: int, address_key: str) -> None:
    """Delete the event if the reader with its address was erased."""
    asked = reader_hooks.registered()
    if address_key and asked.reader_at(address_key) is None and asked.is_erased(address_key):
        ProviderEvent.objects.filter(pk=event_id).delete()


def _delete_if_erased(event_id: int, delivery: EventDelivery, address_key: str) -> None:
    """Delete the event if its reader was erased meanwhile.

    If the edition's copies are dropped, the event stays only if a reader has the event's address.
    """
    if delivery.address is None:
        is_erased = reader_hooks.registered().reader_at(address_key) is None
    else:
        is_erased = record_delivery_event.delivery(delivery.key).filter(address="").exists()
    if is_erased:
        ProviderEvent.objects.filter(pk=event_id).delete()


def _address_event(
    parsed: WebhookEvent, delivery: EventDelivery | None, scope: Scope, received_at: datetime
) -> AddressEvent | None:
    if parsed.address_event is None:
        return None
    event = replace(
        received_by(parsed.address_event, received_at),
        # The delivery is None if another system sent the mail over the same server.
        delivery=delivery.key if delivery is not None else None,
        is_on_request=scope is Scope.ON_REQUEST,
    )
    if isinstance(event, AddressSuppressed) and event.origin == "Customer":
        event = replace(event, is_our_own=was_requested_by_us(event))
    if isinstance(event, AddressReactivated):
        event = replace(event, is_our_own=lift_for_mail.was_lifted_for_mail(event))
    return event


def _find_key(parsed: WebhookEvent) -> DeliveryKey | None:
    """Find the copy that an event is about, if the event lacks our metadata."""
    event = parsed.address_event
    if parsed.issue is None or event is None or event.message_id is None:
        return None
    is_test = parsed.is_of_a_test
    reader = TEST_RECIPIENT if is_test else reader_hooks.registered().reader_at(event.address)
    if reader is None:
        return None
    return record_delivery_event.find_delivery_by_message(parsed.issue, reader, event.message_id)


def _apply_to_delivery(cursor: CursorWrapper, event: AddressEvent) -> None:
    at, key = event.at, event.delivery
    assert at is not None  # noqa: S101 -- received_by sets it
    match event:
        case Delivered() if key is not None:
            record_delivery_event.record_delivered(key, at)
        case Bounced() | AddressSuppressed() if key is not None:
            match event.meaning:
                case BounceMeaning.BOUNCED | BounceMeaning.COUNTED:
                    record_delivery_event.record_feedback(cursor, key, at, "bounced")
                case BounceMeaning.COMPLAINED:
                    record_delivery_event.record_feedback(cursor, key, at, "complained")
    if isinstance(event, AddressSuppressed | AddressReactivated):
        save_latest(cursor, event)


def _apply_acceptance(
    cursor: CursorWrapper, delivery: EventDelivery, accepted: Acceptance, received_at: datetime
) -> None:
    """Record and settle a new acceptance, if the copy's row is still kept."""
    if delivery.address is None or delivery.accepted_as == accepted.message_id:
        return
    lock_edition(cursor, delivery.edition)
    # The provider's clock may be ahead. So the time of receipt is used if it is earlier than the
    # event's time.
    by = min(accepted.by, received_at) if accepted.by else None
    record_acceptances(
        cursor,
        delivery.edition,
        accepted.attempt,
        [(delivery.key.recipient, Sent(accepted.message_id, by))],
        Evidence.Source.WEBHOOK,
    )
    settle_by_evidence(cursor, delivery.edition, [delivery.key.recipient])


def _count_failure(event_id: int, error: Exception) -> None:
    """Count a failure. The error's message may contain an address and is not logged."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE provider_event SET failures = failures + 1 WHERE id = %s RETURNING failures",
            [event_id],
        )
        (failures,) = cursor.fetchone()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    logger.error(
        "event %d could not be applied: %s in %s, line %s; %s",
        event_id,
        type(error).__name__,
        frame.filename,
        frame.lineno,
        "it waits for an operator" if failures >= MAX_FAILURES else "it is tried again",
    )

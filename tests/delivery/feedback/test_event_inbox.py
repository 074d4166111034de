"""Complaints are the first pending events to be applied; no event blocks another."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import Error, connection, transaction

from delivery.feedback import event_inbox
from delivery.models import Edition, ProviderEvent
from delivery.queue.short_transaction import lock_edition
from tests.delivery.edition_factory import Newsroom, never
from tests.delivery.webhook_events import event, key_of
from tests.publishing.second_connection import PATIENCE_S, beside

Execute = Callable[..., object]


@pytest.fixture
def sent(newsroom: Newsroom) -> Edition:
    edition = newsroom.publish(readers=3)
    newsroom.deliver_all()
    return edition


def keep(edition: Edition, newsroom: Newsroom, record_type: str, reader: int, **more: Any) -> int:
    copy = newsroom.copies(edition)[reader]
    address = f"reader{reader}@example.net"
    bounce = event(
        key_of(edition, copy.recipient_id),
        copy.provider_message_id,
        record_type=record_type,
        **{"Recipient": address, "Email": address, **more},
    )
    kept = event_inbox.store(orjson.dumps(bounce))
    assert kept is not None
    return kept


def keep_others(count: int) -> list[int]:
    """Store events without an address."""
    return event_inbox.store_all([b"%d" % number for number in range(count)])


def applied() -> list[int]:
    """List the events that were applied, in order of application."""
    events = ProviderEvent.objects.filter(applied_at__isnull=False)
    return list(events.order_by("applied_at").values_list("id", flat=True))


def test_complaints_are_applied_first_then_all_in_order(sent: Edition, newsroom: Newsroom) -> None:
    count = event_inbox.READ_AT_ONCE + 20
    deliveries = keep_others(count)
    complaint = keep(sent, newsroom, "SpamComplaint", 1, ID=7, Type="SpamComplaint")
    assert event_inbox.apply_pending() == count + 1
    assert applied() == [complaint, *deliveries]


def test_a_complaint_overtakes_a_drain_that_has_begun(sent: Edition, newsroom: Newsroom) -> None:
    count = event_inbox.READ_AT_ONCE + 20
    deliveries = keep_others(count)
    kept: list[int] = []

    def complain_once() -> bool:
        if not kept:
            kept.append(keep(sent, newsroom, "SpamComplaint", 1, ID=7, Type="SpamComplaint"))
        return False

    assert event_inbox.apply_pending(complain_once) == count + 1
    assert applied().index(kept[0]) == event_inbox.READ_AT_ONCE
    assert applied()[-1] == deliveries[-1]


def test_events_behind_a_locked_edition_are_applied(sent: Edition, newsroom: Newsroom) -> None:
    bounces = [keep(sent, newsroom, "Bounce", reader, Type="HardBounce") for reader in range(3)]
    other = newsroom.publish()
    newsroom.deliver_all()
    behind = keep(other, newsroom, "Bounce", 0, Type="HardBounce")
    patience: list[str] = []

    def counted(execute: Execute, sql: str, *rest: Any) -> object:
        if sql.startswith("SELECT control FROM edition") and rest[0] == [sent.pk]:
            with connection.cursor() as cursor:
                cursor.execute("SHOW lock_timeout")
                patience.append(cursor.fetchone()[0])
        return execute(sql, *rest)

    def drain() -> int:
        with connection.execute_wrapper(counted):
            return event_inbox.apply_pending()

    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, sent.pk)
        assert beside(drain).result(PATIENCE_S) == 1
    assert applied() == [behind]
    # Only the first event was allowed to wait long for the lock.
    assert patience == ["3s", "10ms", "10ms"]
    assert event_inbox.apply_pending() == 3
    assert applied() == [behind, *bounces]


@pytest.mark.parametrize("sqlstate", ["53100", "25006", "42501"])
def test_a_fault_of_the_database_counts_against_no_event(
    sent: Edition, newsroom: Newsroom, caplog: pytest.LogCaptureFixture, sqlstate: str
) -> None:
    kept = [keep(sent, newsroom, "Delivery", reader) for reader in (0, 1)]
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{sqlstate}'; END $$;"
            "CREATE TRIGGER refuse BEFORE UPDATE ON delivery EXECUTE FUNCTION refuse()"
        )
        try:
            # The error reaches the worker's thread, which reports it and pauses.
            with pytest.raises(Error):
                event_inbox.apply_pending()
        finally:
            cursor.execute("DROP FUNCTION refuse CASCADE")
    assert set(ProviderEvent.objects.values_list("failures", flat=True)) == {0}
    assert "event" not in caplog.text
    assert event_inbox.apply_pending() == 2
    assert applied() == kept


def test_a_worker_that_stops_ends_between_two_events(sent: Edition, newsroom: Newsroom) -> None:
    kept = [keep(sent, newsroom, "Delivery", 0, ServerID=number) for number in range(5)]
    assert event_inbox.apply_pending(lambda: len(applied()) == 2) == 2
    assert applied() == kept[:2]


def test_fresh_event_is_left_to_the_process_that_stored_it(
    sent: Edition, newsroom: Newsroom
) -> None:
    keep(sent, newsroom, "Delivery", 0)
    assert not event_inbox.apply_pending_events(never)
    assert event_inbox.waiting()[0].exists()
    ProviderEvent.objects.update(received_at="2000-01-01T00:00:00Z")
    assert event_inbox.apply_pending_events(never)
    assert not event_inbox.waiting()[0].exists()

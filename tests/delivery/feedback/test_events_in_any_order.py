"""Events end in the same state in any order: shuffled, twice, before the reply.

A small town is simulated twice with the same random numbers. In the first run every reply is
settled first and events arrive as they happened. In the second, a tenth of the replies is late, and
all events arrive twice and shuffled. Then every row that they touch is compared.
"""

import os
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import RequestFactory

from delivery.feedback import event_inbox, send_suppression_changes
from delivery.feedback.webhook_view import PostmarkWebhook
from delivery.models import Attempt, Edition, ProviderEvent
from delivery.queue.claim_due_batch import Claim, claim
from delivery.queue.settle_batch import settle_call
from delivery.queue.start_call import start
from delivery.reports.audit import find_violations
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import Next, Sent, Settlement
from subscribers.models import Subscriber
from tests.database.template import set_ids_apart
from tests.delivery.edition_factory import Newsroom
from tests.delivery.webhook_events import PATH, credentials

# `HOMING_SHUFFLED_EVENTS=10000` runs the long test.
EVENTS = int(os.environ.get("HOMING_SHUFFLED_EVENTS", "300"))
READERS, ISSUES = max(100, EVENTS * 3 // 50), 7
OPTED_IN = READERS // 10
SOON = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
TABLES = (
    "subscriber, suppression, bounce, consent_record, issue, edition, batch, delivery, attempt, "
    "evidence, alarm, provider_event, provider_suppression, suppression_change, periodic_task"
)


@pytest.fixture
def town(newsroom: Newsroom, settings: Any) -> Iterator[Newsroom]:
    settings.DELIVERY_BATCH_SIZE = READERS // 10
    settings.DELIVERY_SURGE_BOUNCES_LEAST = settings.DELIVERY_SURGE_COMPLAINTS_LEAST = 10**6
    yield newsroom
    set_ids_apart()


@dataclass
class Call:
    claim: Claim
    attempt: uuid.UUID
    recipients: list[int]

    def settle(self) -> None:
        outcomes = {
            recipient: Sent(_message_id(self.claim.edition, recipient), SOON)
            for recipient in self.recipients
        }
        assert settle_call(
            self.claim, self.attempt, Settlement(Next.DONE, outcomes), Attempt.Result.ANSWERED
        )


def _message_id(edition: int, recipient: int) -> str:
    return f"message-{edition}-{recipient}"


def build(town: Newsroom) -> tuple[list[Edition], list[Call]]:
    """Build the same town each time: readers, their issues, and calls in flight."""
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {TABLES} RESTART IDENTITY CASCADE")
    readers = town.confirm(READERS)
    for reader in readers[:OPTED_IN]:
        opt_in(reader)
    for reader in readers[OPTED_IN : 2 * OPTED_IN]:
        send_suppression_changes.queue_suppression_change(reader.email, "suppress")
    editions = [town.publish(title=f"Letter {number}") for number in range(ISSUES)]
    calls = []
    worker = uuid.uuid4()
    while (claimed := claim(worker, lease_s=600)) is not None:
        attempt = uuid.uuid4()
        started = start(claimed, attempt, worker, deadline_s=600, lease_s=600)
        assert started
        calls.append(Call(claimed, attempt, started))
    return editions, calls


def opt_in(reader: Subscriber) -> None:
    act = """
        INSERT INTO consent_record (subscriber_id, act, how, request)
        VALUES (%(id)s, '{}', '{}', 1)
    """
    with connection.cursor() as cursor:
        cursor.execute(act.format("asked", "form"), {"id": reader.pk})
        cursor.execute(
            f"""
            WITH confirmed AS ({act.format("confirmed", "link")} RETURNING id, at)
            UPDATE subscriber SET opt_in_id = confirmed.id, confirmed_at = at
            FROM confirmed WHERE subscriber.id = %(id)s
            """,
            {"id": reader.pk},
        )


def happenings(dice: random.Random, editions: list[Edition]) -> list[dict[str, Any]]:
    """Generate this many events as reported, in the order of their times."""
    events: list[dict[str, Any]] = []
    opted_in_at = dict(
        Subscriber.objects.filter(opt_in__isnull=False).values_list("id", "opt_in__at")
    )
    makers = _makers(dice, editions, opted_in_at)
    while len(events) < EVENTS:
        events += next(makers)
    events = events[:EVENTS]
    # Two events with the same content would count as one.
    for number, event in enumerate(events):
        event["ServerID"] = number
    return sorted(events, key=lambda event: (_time_of(event), event["ServerID"]))


def _time_of(event: dict[str, Any]) -> str:
    return next(
        str(event[name])
        for name in ("DeliveredAt", "BouncedAt", "ChangedAt", "ReceivedAt")
        if name in event
    )


SOFT = ("SoftBounce", "Blocked", "DnsError", "Unknown", "SpamNotification")
HARD = ("HardBounce", "BadEmailAddress", "ManuallyDeactivated")
OTHER = ("Transient", "AutoResponder", "Subscribe", "ChallengeVerification", "NotYetInvented")


def _makers(
    dice: random.Random, editions: list[Edition], opted_in_at: dict[int, datetime]
) -> Iterator[list[dict[str, Any]]]:
    numbers = iter(range(10**12, 10**13))

    def when(reader: int) -> str:
        at = SOON + timedelta(seconds=dice.uniform(0, 60 * 86400))
        if reader in opted_in_at and dice.random() < 0.5:
            at = opted_in_at[reader] + timedelta(microseconds=dice.randrange(1, 1000))
        return at.isoformat()

    def base(
        kind: str, reader: int, edition: Edition, address: str = "Recipient"
    ) -> dict[str, Any]:
        email = f"reader{reader - 1}@example.net"
        return {
            "RecordType": kind,
            "MessageStream": "broadcast",
            "MessageID": _message_id(edition.pk, reader),
            address: email.upper() if dice.random() < 0.1 else email,
            "Tag": f"issue-{edition.issue_id.hex}",
            "Metadata": {"delivery": str(DeliveryKey(edition.issue_id, edition.version, reader))},
        }

    def bounce(kind: str, reader: int, edition: Edition) -> dict[str, Any]:
        event = base("Bounce", reader, edition, "Email") | {
            "ID": next(numbers),
            "Type": kind,
            "TypeCode": dice.choice((1, 512, 100000)),
            "Suppressed": kind in HARD or dice.random() < 0.02,
            "Description": f"{kind} of this copy",
            "BouncedAt": when(reader),
        }
        if dice.random() < 0.1:
            # As in the polled list, without our metadata.
            del event["Metadata"]
        return event

    def change(reader: int, edition: Edition, reason: str, origin: str) -> dict[str, Any]:
        event = base("SubscriptionChange", reader, edition) | {
            "SuppressSending": True,
            "SuppressionReason": reason,
            "Origin": origin,
            "ChangedAt": when(reader),
        }
        return event if origin == "Recipient" else event | {"MessageID": None, "Metadata": {}}

    def delivered(reader: int, edition: Edition) -> list[dict[str, Any]]:
        return [base("Delivery", reader, edition) | {"DeliveredAt": when(reader)}]

    def soft(reader: int, edition: Edition) -> list[dict[str, Any]]:
        return [bounce(dice.choice(SOFT), reader, edition)]

    def chronic(reader: int, edition: Edition) -> list[dict[str, Any]]:
        return [bounce("SoftBounce", reader, each) for each in editions]

    def hard(reader: int, edition: Edition) -> list[dict[str, Any]]:
        first = bounce(dice.choice(HARD), reader, edition)
        return [first, change(reader, edition, "HardBounce", "Recipient")]

    def complaint(reader: int, edition: Edition) -> list[dict[str, Any]]:
        first = bounce("SpamComplaint", reader, edition) | {"RecordType": "SpamComplaint"}
        return [first, change(reader, edition, "SpamComplaint", "Recipient")]

    def leaves(reader: int, edition: Edition) -> list[dict[str, Any]]:
        if dice.random() < 0.3:
            return [bounce("Unsubscribe", reader, edition)]
        return [change(reader, edition, "ManualSuppression", "Recipient")]

    def shut_out(reader: int, edition: Edition) -> list[dict[str, Any]]:
        return [change(reader, edition, "ManualSuppression", dice.choice(("Customer", "Admin")))]

    def reactivated(reader: int, edition: Edition) -> list[dict[str, Any]]:
        return [
            base("SubscriptionChange", reader, edition)
            | {"SuppressSending": False, "SuppressionReason": None, "Origin": "Recipient"}
            | {"MessageID": None, "Tag": None, "Metadata": {}, "ChangedAt": when(reader)}
        ]

    def other(reader: int, edition: Edition) -> list[dict[str, Any]]:
        if dice.random() < 0.5:
            return [base("Open", reader, edition) | {"ReceivedAt": when(reader)}]
        return [bounce(dice.choice(OTHER), reader, edition)]

    def stranger(reader: int, edition: Edition) -> list[dict[str, Any]]:
        email = f"stranger{dice.randrange(200)}@example.org"
        event = change(reader, edition, dice.choice(("HardBounce", "SpamComplaint")), "Recipient")
        nobody = {"Recipient": email, "Metadata": {}, "MessageID": None, "Tag": None}
        return [event | nobody | {"ChangedAt": when(0)}]

    kinds: dict[Callable[[int, Edition], list[dict[str, Any]]], float] = {
        delivered: 60, soft: 8, chronic: 0.4, hard: 1.2, complaint: 0.5, leaves: 1.5, shut_out: 1,
        reactivated: 2, other: 4, stranger: 1,
    }  # fmt: skip
    while True:
        (maker,) = dice.choices([*kinds], [*kinds.values()])
        yield maker(dice.randrange(1, READERS + 1), dice.choice(editions))


def tell(event: dict[str, Any]) -> None:
    request = RequestFactory().post(
        PATH,
        orjson.dumps(event),
        content_type="application/json",
        headers={"Authorization": credentials()},
    )
    assert PostmarkWebhook.as_view()(request).status_code == 200


OF_BATCHES = "id, state, size, waiting, sent, unknown, suppressed, withdrawn, failed, missed"
LEFT = {
    "readers": "SELECT email, state, {since}(unsubscribed_at) FROM subscriber ORDER BY id",
    "suppressions": """
        SELECT address_key, reason, origin, {since}(suppression.at), lifted_at IS NULL
        FROM suppression LEFT JOIN subscriber ON email_key = address_key ORDER BY address_key
    """,
    "bounces": """
        SELECT provider_id, subscriber_id, type, inactive, {since}(bounce.at), description,
               title, version
        FROM bounce JOIN subscriber ON subscriber.id = subscriber_id
             LEFT JOIN edition USING (issue_id, version) ORDER BY provider_id
    """,
    "acts": "SELECT subscriber_id, act, how FROM consent_record ORDER BY subscriber_id, act, how",
    "copies": """
        SELECT title, recipient_id, outcome, sent_at, provider_message_id, evidence,
               {since}(delivered_at), {since}(bounced_at), {since}(complained_at)
        FROM delivery JOIN edition USING (issue_id, version)
             JOIN subscriber ON subscriber.id = recipient_id ORDER BY title, recipient_id
    """,
    "batches": f"SELECT {OF_BATCHES}, bounced, complained FROM batch ORDER BY id",
    "editions": "SELECT title, control, control_reason FROM edition ORDER BY title",
    "last words": """
        SELECT address_key, stream, refuses, reason, origin, {since}(provider_suppression.at)
        FROM provider_suppression LEFT JOIN subscriber ON email_key = address_key
        ORDER BY address_key, stream
    """,
    "alarms": "SELECT count(*) FROM alarm",
    "not applied": "SELECT count(*) FROM provider_event WHERE applied_at IS NULL",
}


def what_is_left(editions: list[Edition]) -> dict[str, list[Any]]:
    """Read every row that an event may touch, without ids that differ by run."""
    assert find_violations([edition.pk for edition in editions]) == []
    left: dict[str, list[Any]] = {}
    with connection.cursor() as cursor:
        for name, query in LEFT.items():
            cursor.execute(query.replace("{since}(", "pg_temp.after_opt_in(opt_in_id, "))
            left[name] = cursor.fetchall()
    return left


# Times after a reader's opt-in are compared relative to it.
AFTER_OPT_IN = """
    CREATE FUNCTION pg_temp.after_opt_in(opt_in bigint, moment timestamptz) RETURNS text
    LANGUAGE sql STABLE AS $$
        SELECT CASE WHEN moment > events.at THEN (moment - events.at)::text ELSE moment::text END
        FROM (SELECT (SELECT at FROM consent_record WHERE id = opt_in) AS at) AS events
    $$
"""


# About 300,000 round trips to the database, which take long on a busy machine.
@pytest.mark.timeout(1500)
def test_events_in_any_order_end_in_the_same_state(town: Newsroom) -> None:
    with connection.cursor() as cursor:
        cursor.execute(AFTER_OPT_IN)

    editions, calls = build(town)
    for call in calls:
        call.settle()
    for event in happenings(random.Random(4), editions):
        kept = event_inbox.store(orjson.dumps(event))
        assert kept is not None
        assert event_inbox.apply(kept)
    in_order = what_is_left(editions)

    editions, calls = build(town)
    dice = random.Random(4)
    events = happenings(dice, editions) * 2
    dice.shuffle(events)
    # For a tenth of all copies every event comes before the reply.
    early, late = calls[::10], [call for number, call in enumerate(calls) if number % 10]
    for call in late:
        call.settle()
    for event in events:
        tell(event)
    for call in early:
        call.settle()
    in_disorder = what_is_left(editions)

    assert ProviderEvent.objects.count() == EVENTS
    for name, rows in in_order.items():
        assert in_disorder[name] == rows, name
    assert in_order["not applied"] == [(0,)]
    # The events had effects.
    states = Counter(state for _, state, _ in in_order["readers"])
    assert min(states[state] for state in ("confirmed", "bounced", "unsubscribed", "complained"))
    assert states["confirmed"] > READERS // 10

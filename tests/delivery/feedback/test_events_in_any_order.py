"""Events and a call's reply, each sent twice, lead to the same state in any order."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.db import connection

from delivery.feedback import event_inbox
from delivery.models import Edition
from delivery.rules.call_results import AllAccepted
from tests.delivery.edition_factory import Newsroom
from tests.delivery.webhook_events import event, key_of
from tests.delivery.worker_steps import Call

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
REPLY = "reply"
# For each event: its record type, and the fields that replace the defaults of an event.
TOLD: list[tuple[str, dict[str, Any]]] = [
    ("Delivery", {"DeliveredAt": AT}),
    ("Bounce", {"Type": "HardBounce", "BouncedAt": AT + timedelta(hours=1), "Inactive": True}),
    ("SpamComplaint", {"Type": "SpamComplaint", "BouncedAt": AT + timedelta(hours=2)}),
    (
        "SubscriptionChange",
        {
            "SuppressSending": True,
            "SuppressionReason": "ManualSuppression",
            "Origin": "Recipient",
            "ChangedAt": AT + timedelta(hours=3),
        },
    ),
]

LEFT = """
    SELECT subscriber.state, unsubscribed_at, suppression.reason, suppression.origin,
           suppression.at, lifted_at, outcome, sent_at,
           provider_message_id = 'message-' || subscriber.id,
           delivered_at, bounced_at, complained_at, bounced, complained, batch.state,
           (SELECT count(*) FROM bounce WHERE subscriber_id = subscriber.id),
           (SELECT array_agg(act ORDER BY act) FROM consent_record
            WHERE subscriber_id = subscriber.id),
           held.refuses, held.reason, held.at
    FROM subscriber JOIN suppression ON suppression.address_key = email_key
         JOIN delivery ON recipient_id = subscriber.id JOIN batch ON batch.id = batch_id
         JOIN provider_suppression AS held ON held.address_key = email_key
"""


def happen(what: Any, call: Call, edition: Edition, reader: int) -> None:
    message = f"message-{reader}"
    if what == REPLY:
        call.ends(AllAccepted([message], [AT]))
        return
    record_type, fields = what
    reported = event(key_of(edition, reader), message, record_type=record_type, ID=reader, **fields)
    reported["Email"] = reported["Recipient"]
    for _ in range(2):
        if (kept := event_inbox.store(orjson.dumps(reported))) is not None:
            assert event_inbox.apply(kept)


def test_events_in_any_order_end_in_the_same_state(newsroom: Newsroom, settings: Any) -> None:
    settings.DELIVERY_SURGE_BOUNCES_LEAST = settings.DELIVERY_SURGE_COMPLAINTS_LEAST = 10**6
    # Test every seventh of the 120 orders. Each event, and also the reply, is first in some of
    # these orders.
    orders = list(itertools.permutations([*TOLD, REPLY]))[::7]
    edition = newsroom.publish(readers=len(orders), batch_size=1)
    for order in orders:
        call = Call()
        for what in order:
            happen(what, call, edition, call.recipients[0])
    with connection.cursor() as cursor:
        cursor.execute(LEFT)
        left = cursor.fetchall()
    assert len(left) == len(orders)
    assert len({repr(row) for row in left}) == 1, set(map(repr, left))
    state, unsubscribed_at, reason, *_ = left[0]
    assert (state, unsubscribed_at, reason) == ("complained", AT + timedelta(hours=3), "complaint")
    assert newsroom.counts(edition).sent == len(orders)

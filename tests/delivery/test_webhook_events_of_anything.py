"""No body is too strange to be read; only what is ours says something."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.delivery_key import DeliveryKey
from delivery.webhook_event import LONGEST_KIND, SeenAccepted, WebhookEvent, read
from tests.delivery.any_input import repeatable

ISSUE = UUID("00112233445566778899aabbccddeeff")
KEY = f"{ISSUE.hex}.2.77"
TIMES = {
    "Delivery": "DeliveredAt",
    "Bounce": "BouncedAt",
    "SpamComplaint": "BouncedAt",
    "SubscriptionChange": "ChangedAt",
    "Open": "ReceivedAt",
    "Click": "ReceivedAt",
}

odd = st.sampled_from(
    [None, True, 0, -1, 2**60, 1.5, "", "x", "nul\x00", "é" * 200, [], {}, [[]], {"delivery": {}}]
)
events = st.fixed_dictionaries(
    {},
    optional={
        "RecordType": st.sampled_from([*TIMES, "Inbound"]) | odd,
        "MessageID": st.just("m-1") | st.text(max_size=120) | odd,
        "Metadata": st.fixed_dictionaries({}, optional={"delivery": st.just(KEY) | odd}) | odd,
        "DeliveredAt": st.just("2026-05-04T14:15:30Z") | st.text(max_size=30) | odd,
        "BouncedAt": odd,
    },
)


@repeatable
@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(body: bytes) -> None:
    assert isinstance(read(body), WebhookEvent)


@repeatable
@given(events)
def test_any_event_can_be_read_and_what_it_says_fits_the_tables(event: dict[str, object]) -> None:
    found = read(orjson.dumps(event))
    assert len(found.kind) <= LONGEST_KIND
    assert "\x00" not in found.kind
    if found.accepted is not None:
        assert event["RecordType"] in TIMES
        assert found.accepted.delivery == DeliveryKey(ISSUE, 2, 77)
        assert 0 < len(found.accepted.message_id) <= 100
        assert "\x00" not in found.accepted.message_id


@pytest.mark.parametrize(("record_type", "time_field"), TIMES.items())
def test_each_type_that_befalls_an_accepted_message_says_so(
    record_type: str, time_field: str
) -> None:
    attempt = UUID(int=7)
    event = {
        "RecordType": record_type,
        "MessageID": "m-1",
        "Metadata": {"delivery": KEY, "attempt": attempt.hex},
        time_field: "2026-05-04T14:15:30.1230000Z",
        "Of the future": ["whatever"],
    }

    assert read(orjson.dumps(event)) == WebhookEvent(
        record_type,
        SeenAccepted(
            DeliveryKey(ISSUE, 2, 77),
            "m-1",
            attempt,
            datetime(2026, 5, 4, 14, 15, 30, 123_000, tzinfo=UTC),
        ),
    )

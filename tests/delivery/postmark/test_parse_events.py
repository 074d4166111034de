"""Events, polled bounces and suppression entries are parsed from any input."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.postmark.parse_events import WEBHOOK_TYPES, parse_event, parse_webhook
from delivery.provider.event_fields import MAX_DESCRIPTION_LENGTH, MAX_KIND_LENGTH, MAX_WORD_LENGTH
from delivery.provider.events import (
    Acceptance,
    AddressReactivated,
    AddressSuppressed,
    Bounced,
    BounceMeaning,
    Delivered,
    WebhookEvent,
    received_by,
)
from delivery.rules.delivery_key import DeliveryKey

DOCS = Path(__file__).parents[3] / "docs"
BOUNCE = {
    "RecordType": "Bounce",
    "MessageStream": "broadcast",
    "ID": 4323372036854775807,
    "Type": "HardBounce",
    "TypeCode": 1,
    "MessageID": "m-1",
    "Metadata": {"delivery": "0" * 31 + "1.2.3"},
    "Email": " Ann@Example.net ",
    "BouncedAt": "2026-05-04T14:15:31.0000000Z",
    "Inactive": True,
    "Description": "No\x00 such\n user",
}
CHANGE = {
    "RecordType": "SubscriptionChange",
    "MessageStream": "broadcast",
    "Recipient": "ann@example.net",
    "ChangedAt": "2026-05-04T15:00:00Z",
    "SuppressSending": True,
    "SuppressionReason": "ManualSuppression",
    "Origin": "Recipient",
}


@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        ("HardBounce", BounceMeaning.BOUNCED),
        ("ManuallyDeactivated", BounceMeaning.BOUNCED),
        ("Unsubscribe", BounceMeaning.LEFT),
        ("SpamComplaint", BounceMeaning.COMPLAINED),
        ("SoftBounce", BounceMeaning.COUNTED),
        ("DnsError", BounceMeaning.COUNTED),
        ("Blocked", BounceMeaning.COUNTED),
        ("Transient", BounceMeaning.NOTED),
        ("DMARCPolicy", BounceMeaning.NOTED),
        ("NotYetInvented", BounceMeaning.NOTED),
    ],
)
def test_bounce_types_have_the_meaning_of_their_name(kind: str, meaning: BounceMeaning) -> None:
    bounced = Bounced(address="", at=None, bounce=None, kind=kind, inactive=False)
    assert bounced.meaning is meaning
    # If Postmark made an address inactive, the address counts as dead, unless the bounce type says
    # something more specific.
    is_weak = meaning in {BounceMeaning.COUNTED, BounceMeaning.NOTED}
    inactive = replace(bounced, inactive=True)
    assert inactive.meaning is (BounceMeaning.BOUNCED if is_weak else meaning)


def test_a_bounce_is_read_whole() -> None:
    event = parse_event(BOUNCE)
    assert isinstance(event, Bounced)
    assert (event.address, event.address_key) == (
        "Ann@Example.net",
        "ann@example.net",
    )
    assert (event.bounce, event.kind, event.inactive) == (
        "4323372036854775807",
        "HardBounce",
        True,
    )
    assert event.description == "No such user"
    assert event.delivery is not None
    assert (event.delivery.version, event.delivery.recipient) == (2, 3)
    assert event.at == datetime(2026, 5, 4, 14, 15, 31, tzinfo=UTC)


def test_a_complaint_is_recognised_by_its_record_type() -> None:
    event = parse_event(BOUNCE | {"RecordType": "SpamComplaint", "Type": "HardBounce"})
    assert isinstance(event, Bounced)
    assert event.meaning is BounceMeaning.COMPLAINED


@pytest.mark.parametrize(
    ("reason", "origin", "meaning"),
    [
        ("ManualSuppression", "Recipient", BounceMeaning.LEFT),
        ("ManualSuppression", "Customer", BounceMeaning.NOTED),
        ("HardBounce", "Recipient", BounceMeaning.BOUNCED),
        ("SpamComplaint", "Recipient", BounceMeaning.COMPLAINED),
        ("NotYetInvented", "Recipient", BounceMeaning.NOTED),
    ],
)
def test_suppression_reasons_have_their_meaning(
    reason: str, origin: str, meaning: BounceMeaning
) -> None:
    event = parse_event(CHANGE | {"SuppressionReason": reason, "Origin": origin})
    assert isinstance(event, AddressSuppressed)
    assert event.meaning is meaning


def test_reactivation_is_not_a_suppression() -> None:
    event = parse_event(CHANGE | {"SuppressSending": False, "SuppressionReason": None})
    assert isinstance(event, AddressReactivated)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"RecordType": "Open", "Recipient": "ann@example.net"},
        {"RecordType": "Delivery"},
        {"RecordType": "Delivery", "Recipient": ["ann@example.net"]},
        {"RecordType": "Delivery", "Recipient": "no address"},
        {"RecordType": "Delivery", "Recipient": "a@b@c"},
        {"RecordType": "Delivery", "Recipient": "a b@example.net"},
        {"RecordType": "Delivery", "Recipient": "å@example.net"},
        {"RecordType": "Delivery", "Recipient": "nul\x00@example.net"},
        {"RecordType": "Delivery", "Recipient": "x" * 250 + "@example.net"},
        CHANGE | {"SuppressSending": None},
        CHANGE | {"SuppressSending": "true"},
    ],
)
def test_event_without_address_or_known_type_is_ignored(event: dict[str, object]) -> None:
    assert parse_event(event) is None


def test_event_texts_fit_the_tables_and_are_printable() -> None:
    event = parse_event(BOUNCE | {"Type": "x" * 1000, "Description": "x" * 10_000})
    assert isinstance(event, Bounced)
    assert event.kind == "x" * MAX_WORD_LENGTH
    assert event.description == "x" * (MAX_DESCRIPTION_LENGTH - 1) + "…"
    unprintable = parse_event(BOUNCE | {"Type": "Hard\x00Bounce", "MessageStream": "broad\ncast"})
    assert isinstance(unprintable, Bounced)
    assert (unprintable.kind, unprintable.stream) == ("", "")


@pytest.mark.parametrize("inactive", [False, "true", 1, None])
def test_address_is_inactive_only_if_the_event_states_it(inactive: object) -> None:
    # The type's number is not reliable: samples show complaints with the number of a
    # SpamNotification.
    event = parse_event(BOUNCE | {"Type": "SoftBounce", "TypeCode": 1, "Inactive": inactive})
    assert isinstance(event, Bounced)
    assert event.meaning is BounceMeaning.COUNTED


@pytest.mark.parametrize("number", [True, 0, 10**20, "7", None])
def test_invalid_bounce_number_is_ignored(number: object) -> None:
    event = parse_event(BOUNCE | {"ID": number})
    assert isinstance(event, Bounced)
    assert event.bounce is None


def test_event_time_is_limited_to_its_reception() -> None:
    seen = datetime(2026, 5, 4, tzinfo=UTC)
    late = parse_event({"RecordType": "Delivery", "Recipient": "a@example.net"})
    assert isinstance(late, Delivered)
    assert received_by(late, seen).at == seen
    future = parse_event(BOUNCE)
    assert future is not None
    assert received_by(future, seen).at == seen
    assert received_by(future, seen + timedelta(days=1)).at == future.at


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


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(body: bytes) -> None:
    assert isinstance(parse_webhook(body), WebhookEvent)


@given(events)
def test_any_event_parses_and_fits_the_tables(event: dict[str, object]) -> None:
    found = parse_webhook(orjson.dumps(event))
    assert len(found.kind) <= MAX_KIND_LENGTH
    assert "\x00" not in found.kind
    if found.accepted is not None:
        assert event["RecordType"] in TIMES
        assert found.accepted.delivery == DeliveryKey(ISSUE, 2, 77)
        assert 0 < len(found.accepted.message_id) <= 100
        assert "\x00" not in found.accepted.message_id


def test_the_instructions_name_every_type_of_webhook() -> None:
    assert set(WEBHOOK_TYPES) < set(TIMES)
    deploy = (DOCS / "deploy.md").read_text("utf-8")
    *first, last = WEBHOOK_TYPES.values()
    assert f"Switch on the webhooks {', '.join(first)} and {last} for" in deploy
    sandbox = (DOCS / "sandbox.md").read_text("utf-8")
    assert re.findall(r'"(\w+)": {"Enabled"', sandbox) == list(WEBHOOK_TYPES)


@pytest.mark.parametrize(("record_type", "time_field"), TIMES.items())
def test_each_type_of_event_proves_its_acceptance(record_type: str, time_field: str) -> None:
    attempt = UUID(int=7)
    event = {
        "RecordType": record_type,
        "MessageID": "m-1",
        "Metadata": {"delivery": KEY, "attempt": attempt.hex},
        time_field: "2026-05-04T14:15:30.1230000Z",
        "FutureField": ["whatever"],
    }

    assert parse_webhook(orjson.dumps(event)) == WebhookEvent(
        record_type,
        Acceptance(
            DeliveryKey(ISSUE, 2, 77),
            "m-1",
            attempt,
            datetime(2026, 5, 4, 14, 15, 30, 123_000, tzinfo=UTC),
        ),
    )

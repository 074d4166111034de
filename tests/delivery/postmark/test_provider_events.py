"""What an event, a polled bounce or an entry of a suppression list says, whatever comes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.postmark.provider_events import (
    LONGEST_DESCRIPTION,
    LONGEST_WORD,
    Bounced,
    Delivered,
    Meaning,
    Reactivated,
    Suppressed,
    fact_in,
    meaning_of,
    told_at,
)
from delivery.postmark.webhook_event import LONGEST_KIND, SeenAccepted, WebhookEvent, read
from delivery.rules.delivery_key import DeliveryKey

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
        ("HardBounce", Meaning.BOUNCED),
        ("ManuallyDeactivated", Meaning.BOUNCED),
        ("Unsubscribe", Meaning.LEFT),
        ("SpamComplaint", Meaning.COMPLAINED),
        ("SoftBounce", Meaning.COUNTED),
        ("DnsError", Meaning.COUNTED),
        ("Blocked", Meaning.COUNTED),
        ("Transient", Meaning.NOTED),
        ("DMARCPolicy", Meaning.NOTED),
        ("NotYetInvented", Meaning.NOTED),
    ],
)
def test_a_type_of_bounce_means_what_its_name_says(kind: str, meaning: Meaning) -> None:
    assert meaning_of(kind, inactive=False) is meaning
    # An address that Postmark made inactive is dead, unless the type says more.
    is_weak = meaning in {Meaning.COUNTED, Meaning.NOTED}
    assert meaning_of(kind, inactive=True) is (Meaning.BOUNCED if is_weak else meaning)


def test_a_bounce_is_read_whole() -> None:
    fact = fact_in(BOUNCE)
    assert isinstance(fact, Bounced)
    assert (fact.address, fact.address_key) == ("Ann@Example.net", "ann@example.net")
    assert (fact.bounce, fact.kind, fact.inactive) == ("4323372036854775807", "HardBounce", True)
    assert fact.description == "No such user"
    assert fact.delivery is not None
    assert (fact.delivery.version, fact.delivery.recipient) == (2, 3)
    assert fact.at == datetime(2026, 5, 4, 14, 15, 31, tzinfo=UTC)


def test_a_complaint_is_one_by_its_record_type() -> None:
    fact = fact_in(BOUNCE | {"RecordType": "SpamComplaint", "Type": "HardBounce"})
    assert isinstance(fact, Bounced)
    assert fact.meaning is Meaning.COMPLAINED


@pytest.mark.parametrize(
    ("reason", "origin", "meaning"),
    [
        ("ManualSuppression", "Recipient", Meaning.LEFT),
        ("ManualSuppression", "Customer", Meaning.NOTED),
        ("HardBounce", "Recipient", Meaning.BOUNCED),
        ("SpamComplaint", "Recipient", Meaning.COMPLAINED),
        ("NotYetInvented", "Recipient", Meaning.NOTED),
    ],
)
def test_a_suppression_means_what_it_says(reason: str, origin: str, meaning: Meaning) -> None:
    fact = fact_in(CHANGE | {"SuppressionReason": reason, "Origin": origin})
    assert isinstance(fact, Suppressed)
    assert fact.meaning is meaning


def test_a_reactivation_is_no_suppression() -> None:
    fact = fact_in(CHANGE | {"SuppressSending": False, "SuppressionReason": None})
    assert isinstance(fact, Reactivated)


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
def test_what_names_no_address_or_no_known_matter_is_no_fact(event: dict[str, object]) -> None:
    assert fact_in(event) is None


def test_no_word_or_sentence_is_longer_than_the_tables_hold_or_cannot_be_shown() -> None:
    fact = fact_in(BOUNCE | {"Type": "x" * 1000, "Description": "x" * 10_000})
    assert isinstance(fact, Bounced)
    assert fact.kind == "x" * LONGEST_WORD
    assert fact.description == "x" * LONGEST_DESCRIPTION
    unprintable = fact_in(BOUNCE | {"Type": "Hard\x00Bounce", "MessageStream": "broad\ncast"})
    assert isinstance(unprintable, Bounced)
    assert (unprintable.kind, unprintable.stream) == ("", "")


@pytest.mark.parametrize("inactive", [False, "true", 1, None])
def test_an_address_is_inactive_only_where_it_is_said_to_be(inactive: object) -> None:
    # The type's number is no evidence: samples show complaints under that of a SpamNotification.
    fact = fact_in(BOUNCE | {"Type": "SoftBounce", "TypeCode": 1, "Inactive": inactive})
    assert isinstance(fact, Bounced)
    assert fact.meaning is Meaning.COUNTED


@pytest.mark.parametrize("number", [True, 0, 10**20, "7", None])
def test_what_is_no_number_of_a_bounce_is_left_out(number: object) -> None:
    fact = fact_in(BOUNCE | {"ID": number})
    assert isinstance(fact, Bounced)
    assert fact.bounce is None


def test_what_happened_was_over_when_it_was_told() -> None:
    seen = datetime(2026, 5, 4, tzinfo=UTC)
    late = fact_in({"RecordType": "Delivery", "Recipient": "a@example.net"})
    assert isinstance(late, Delivered)
    assert told_at(late, seen).at == seen
    future = fact_in(BOUNCE)
    assert future is not None
    assert told_at(future, seen).at == seen
    assert told_at(future, seen + timedelta(days=1)).at == future.at


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
    assert isinstance(read(body), WebhookEvent)


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
def test_each_type_of_event_proves_its_acceptance(record_type: str, time_field: str) -> None:
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

"""The state of an edition and the sentence about what it waits for."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from delivery.models import Alarm, Edition
from delivery.reports.edition_sentences import ALARM_WORDS, AUDIENCE_WORDS, STATE_WORDS
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState, state_of
from delivery.rules.reason import Reason, ReasonCode
from delivery.rules.scheduled_time import ScheduledTime
from tests.delivery.because import because

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
COUNTS = ("audience", "sent", "suppressed", "withdrawn", "failed", "unknown", "waiting", "missed")
PLACES = ("leased_batches", "queued_batches", "parked_batches", "paused_batches")
EMPTY = EditionCounts(
    edition=1,
    issue=uuid.UUID(int=1),
    version=1,
    title="Tides",
    control="running",
    control_reason=None,
    control_at=None,
    unreconciled=False,
    published_at=NOW - timedelta(minutes=5),
    held_until=NOW - timedelta(minutes=4),
    reason=None,
    next_try_at=None,
    next_lookup_at=None,
    unknown_since=None,
    worker_heard_at=NOW,
    worker_is_there=True,
    rate_per_s=0.0,
    now=NOW,
    slowed_to_per_s=None,
    **dict.fromkeys(COUNTS + PLACES, 0),
)
DISK_IS_FULL = Reason.of(ReasonCode.DISK_FULL, sqlstate="53100", for_s=40)
IN_A_MINUTE = NOW + timedelta(minutes=1)


def counts(**facts: Any) -> EditionCounts:
    return replace(EMPTY, **facts)


def test_unreconciled_paused_edition_needs_attention() -> None:
    paused = counts(control="paused", waiting=2, unreconciled=True)
    assert state_of(paused) == "needs_attention"
    assert f"./homing reconcile {paused.issue}" in waiting_sentence(paused)


def test_counts_balance_if_every_reader_is_counted_once() -> None:
    outcomes = {"sent": 1, "suppressed": 2, "withdrawn": 3, "failed": 4, "unknown": 5, "waiting": 6}
    assert counts(audience=21, **outcomes).balanced
    assert not counts(audience=22, **outcomes).balanced
    for name in outcomes:
        assert not counts(audience=21, **outcomes | {name: outcomes[name] - 1}).balanced


STATES: list[tuple[str, dict[str, Any], str]] = [
    ("nobody to send to", {}, "succeeded"),
    ("all sent", {"sent": 9}, "succeeded"),
    ("refused addresses are no longer required", {"sent": 8, "failed": 1}, "succeeded"),
    ("some left, some must not be mailed", {"withdrawn": 2, "suppressed": 2}, "succeeded"),
    ("nobody to hold it for", {"held_until": IN_A_MINUTE}, "succeeded"),
    ("held", {"waiting": 9, "queued_batches": 1, "held_until": IN_A_MINUTE}, "held"),
    (
        "the hold ends by the clock",
        {"waiting": 9, "queued_batches": 1, "held_until": NOW},
        "sending",
    ),
    ("queued", {"waiting": 9, "queued_batches": 1}, "sending"),
    ("in a call", {"waiting": 9, "leased_batches": 1}, "sending"),
    ("unconfirmed, to be looked up", {"unknown": 9, "queued_batches": 1}, "sending"),
    ("some missed, others going", {"missed": 1, "waiting": 1, "queued_batches": 1}, "sending"),
    (
        "some parked, others going",
        {"unknown": 2, "parked_batches": 1, "queued_batches": 1},
        "sending",
    ),
    ("some missed", {"sent": 8, "failed": 1, "missed": 1}, "needs_attention"),
    ("unconfirmed and parked", {"unknown": 1, "parked_batches": 1}, "needs_attention"),
    ("paused batches alone", {"waiting": 1, "paused_batches": 1}, "needs_attention"),
    ("stopped", {"control": "stopped", "waiting": 1}, "needs_attention"),
    ("stopped while in a call", {"control": "stopped", "leased_batches": 1}, "needs_attention"),
    ("stopped with nothing left", {"control": "stopped", "sent": 9}, "needs_attention"),
    ("paused", {"control": "paused", "waiting": 1, "paused_batches": 1}, "paused"),
    ("paused while asking", {"control": "paused", "unknown": 1, "queued_batches": 1}, "paused"),
    (
        "paused before the hold ended",
        {"control": "paused", "waiting": 1, "held_until": IN_A_MINUTE},
        "paused",
    ),
    ("paused, and the last call sent all", {"control": "paused", "sent": 9}, "succeeded"),
    ("paused with some missed", {"control": "paused", "missed": 1}, "needs_attention"),
    ("cancelled", {"control": "cancelled", "withdrawn": 9}, "cancelled"),
    ("cancelled while in a call", {"control": "cancelled", "leased_batches": 1}, "cancelled"),
    ("closed", {"control": "closed", "missed": 3}, "closed"),
]


@pytest.mark.parametrize(
    ("facts", "state"), [row[1:] for row in STATES], ids=[row[0] for row in STATES]
)
def test_counts_and_control_decide_the_state_of_an_edition(
    facts: dict[str, Any], state: str
) -> None:
    assert state_of(counts(**facts)) == state


def test_every_state_has_a_label() -> None:
    assert set(STATE_WORDS) == set(EditionState)
    assert str(STATE_WORDS[EditionState.NEEDS_ATTENTION]) == "needs attention"


def test_every_audience_and_alarm_has_a_label() -> None:
    assert set(AUDIENCE_WORDS) == set(Edition.GoesTo)
    assert set(ALARM_WORDS) == set(Alarm.Kind)


REASONS: list[tuple[dict[str, Any], str]] = [
    ({"sent": 9}, ""),
    ({"control": "cancelled"}, ""),
    (
        {"waiting": 1, "held_until": datetime(2026, 5, 4, 12, 0, 30, tzinfo=UTC)},
        "Sending starts at 12:00:30 UTC.",
    ),
    (
        {
            "control": "stopped",
            "control_reason": because("The token is wrong. Correct it."),
            "missed": 3,
        },
        "The token is wrong. Correct it.",
    ),
    (
        {"missed": 1234},
        "1,234 readers were missed: all tries failed, or the copies were parked.",
    ),
    (
        {"unknown": 2, "parked_batches": 1, "reason": because("No answer: an author decides.")},
        "No answer: an author decides.",
    ),
    (
        {"unknown": 1, "parked_batches": 1},
        "1 copy is unconfirmed. An author must decide whether to resend it.",
    ),
    (
        {"waiting": 9, "queued_batches": 1, "slowed_to_per_s": 99.6},
        "about 100 copies per second for now",
    ),
    ({"control": "cancelled", "waiting": 2, "leased_batches": 1}, "2 copies were being sent"),
    (
        {"control": "cancelled", "unknown": 1, "queued_batches": 1, "next_lookup_at": IN_A_MINUTE},
        f"The next look-up is at {IN_A_MINUTE:%H:%M:%S} UTC.",
    ),
    ({"control": "closed", "unknown": 2, "parked_batches": 1}, "2 copies stay unconfirmed"),
    (
        {"control": "paused", "waiting": 2, "unknown": 1, "queued_batches": 1},
        "2 copies wait until you resume. 1 copy is unconfirmed. Homing is asking Postmark",
    ),
    (
        {"control": "paused", "unknown": 4, "parked_batches": 1},
        "4 copies are unconfirmed. An author must decide whether to resend them.",
    ),
    (
        {"control": "paused", "waiting": 2, "leased_batches": 1},
        "2 copies wait until you resume. Calls that have started finish first.",
    ),
    ({"control": "paused", "waiting": 1}, "1 copy waits until you resume."),
    (
        {"control": "paused", "waiting": 1, "control_reason": because("Too many complaints.")},
        "Too many complaints.",
    ),
    ({"waiting": 1, "queued_batches": 1, "next_try_at": NOW}, "Sending normally."),
    (
        {"waiting": 1, "queued_batches": 1, "worker_is_there": False, "worker_heard_at": None},
        "Start one with ./homing deliver. Nothing is lost meanwhile.",
    ),
    (
        {"unknown": 200, "waiting": 5, "queued_batches": 2, "next_lookup_at": IN_A_MINUTE},
        "Homing is asking Postmark about them. It continues to send the others.",
    ),
    (
        {
            "waiting": 1,
            "queued_batches": 1,
            "reason": because("Maintenance (503)."),
            "next_try_at": IN_A_MINUTE,
        },
        "Maintenance (503). The next try is at 12:01:00 UTC.",
    ),
    (
        {"waiting": 1, "queued_batches": 1, "next_try_at": IN_A_MINUTE},
        "The next try is at 12:01:00 UTC.",
    ),
    (
        {
            "waiting": 2,
            "queued_batches": 1,
            "leased_batches": 1,
            "next_try_at": IN_A_MINUTE,
            "last_call_at": NOW - timedelta(seconds=60),
        },
        "Sending normally.",
    ),
    # No batch makes progress, although a worker sends heartbeats.
    (
        {"waiting": 2, "leased_batches": 1, "last_call_at": NOW - timedelta(seconds=61)},
        "2 copies are due. No copy has moved since 11:58:59 UTC.",
    ),
    (
        {"waiting": 1, "queued_batches": 1, "next_try_at": NOW - timedelta(minutes=2)},
        "1 copy is due. No copy has moved since 11:58:00 UTC.",
    ),
    (
        {"waiting": 1, "queued_batches": 1, "worker_is_there": False, "write_fault": DISK_IS_FULL},
        "The database's disk is full, so writes fail (53100).",
    ),
]


@pytest.mark.parametrize(
    ("goes_to", "with_tags", "without_tags", "later", "now"),
    [
        ("everyone", "", "", "to everyone confirmed by then.", "to all confirmed readers."),
        ("everyone", "AB", "", "by then with “A” or “B”.", "readers with “A” or “B”."),
        ("everyone", "A", "CD", "with “A”, without “C” or “D”.", "“A”, without “C” or “D”."),
        ("reached", "", "C", "was sent an earlier version without “C”.", "version without “C”."),
        ("unreached", "", "", "was not sent an earlier version.", "to readers who were not sent"),
        ("nobody", "A", "", "It is not mailed.", "A worker publishes its page now."),
    ],
)
def test_scheduled_edition_names_its_audience(
    goes_to: str, with_tags: str, without_tags: str, later: str, now: str
) -> None:
    waits = counts(
        control="scheduled",
        scheduled=ScheduledTime(NOW, f"{NOW:%Y-%m-%dT%H:%M}", "UTC"),
        goes_to=goes_to,
        with_tags=tuple(with_tags),
        without_tags=tuple(without_tags),
    )
    earlier = replace(waits, now=NOW - timedelta(hours=1))
    assert waiting_sentence(earlier).endswith(later)
    assert now in waiting_sentence(waits)


@pytest.mark.parametrize(("facts", "reason"), REASONS, ids=[row[1] or "-" for row in REASONS])
def test_waiting_sentence_names_the_reason(facts: dict[str, Any], reason: str) -> None:
    sentence = waiting_sentence(counts(**facts))
    assert reason in sentence if reason else not sentence


def test_due_look_up_is_shown_without_a_time() -> None:
    asked = counts(unknown=1, leased_batches=1, next_lookup_at=NOW)
    assert waiting_sentence(asked) == "1 copy is unconfirmed. Homing is asking Postmark about it."


@pytest.mark.parametrize(
    "facts",
    [
        {
            "waiting": 2,
            "queued_batches": 1,
            "next_try_at": IN_A_MINUTE,
            "reason": because("Postmark is down."),
        },
        {"waiting": 2, "queued_batches": 1, "held_until": IN_A_MINUTE},
        {"unknown": 2, "queued_batches": 1, "next_lookup_at": IN_A_MINUTE},
        {
            "waiting": 2,
            "queued_batches": 1,
            "worker_is_there": False,
            "worker_heard_at": IN_A_MINUTE,
        },
    ],
)
def test_reason_shows_times_in_the_given_zone(facts: dict[str, Any]) -> None:
    looked_at = counts(**facts)
    tokyo = ZoneInfo("Asia/Tokyo")
    assert f"{IN_A_MINUTE:%H:%M:%S} UTC" in waiting_sentence(looked_at)
    sentence = waiting_sentence(looked_at, tokyo)
    assert f"{IN_A_MINUTE.astimezone(tokyo):%H:%M:%S}" in sentence
    assert "UTC" not in sentence


@pytest.mark.parametrize("facts", [row[1] for row in STATES], ids=[row[0] for row in STATES])
def test_every_unfinished_state_has_a_sentence(facts: dict[str, Any]) -> None:
    looked_at = counts(control_reason=because(), **facts)
    at_rest = {EditionState.SUCCEEDED, EditionState.CANCELLED, EditionState.CLOSED}
    assert bool(waiting_sentence(looked_at)) == (state_of(looked_at) not in at_rest)

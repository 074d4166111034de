"""What the provider's record means beside ours, and when its silence does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.outcomes import Listed
from delivery.reconciliation import (
    Recorded,
    Silence,
    compare,
    may_be_reconciled_at,
    obstacle_to,
    silence_of,
)
from delivery.reconciliation_seen import Seen

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def listed(message_id: str) -> Listed:
    return Listed("a key", message_id, NOW)


def test_a_message_is_the_one_on_record_only_if_it_is_recorded_as_sent_under_its_id() -> None:
    found = [(number, listed(f"id-{number}")) for number in range(1, 6)]
    recorded = {
        1: Recorded("sent", "id-1"),
        2: Recorded("sent", "another id"),
        3: Recorded("waiting", None),
        4: Recorded("unknown", "id-4"),
    }
    comparison = compare(found, recorded)
    assert comparison.same == [1]
    assert [recipient for recipient, _ in comparison.news] == [2, 3, 4]
    assert [recipient for recipient, _ in comparison.strangers] == [5]


def silence(**changes: Any) -> Silence:
    facts: dict[str, Any] = {
        "last_lookup_after_s": 900.0,
        "retention_days": 45,
        "shows_later_mail": True,
        "last_accepted_at": NOW - 20 * MINUTE,
        "newest_shown_at": None,
    }
    return silence_of(NOW, **facts | changes)


def test_silence_counts_between_the_last_look_up_and_the_providers_memory() -> None:
    assert silence().counts_for(NOW - 15 * MINUTE)
    assert not silence().counts_for(NOW - 14 * MINUTE)
    assert silence().counts_for(NOW - timedelta(days=44))
    assert not silence().counts_for(NOW - timedelta(days=44) - MINUTE)


def test_where_later_mail_is_not_shown_silence_says_nothing_about_what_came_before_it() -> None:
    lagging = silence(shows_later_mail=False)
    assert not lagging.counts_for(NOW - 30 * MINUTE)
    assert lagging.counts_for(NOW - 20 * MINUTE)


def test_a_newer_message_that_is_shown_makes_silence_count_for_older_ones() -> None:
    lagging = silence(shows_later_mail=False, newest_shown_at=NOW - 25 * MINUTE)
    assert lagging.counts_for(NOW - 30 * MINUTE)
    assert not lagging.counts_for(NOW - 25 * MINUTE)


def test_without_any_later_mail_time_alone_makes_silence_count() -> None:
    assert silence(shows_later_mail=False, last_accepted_at=None).counts_for(NOW - 16 * MINUTE)


UNRECONCILED_SINCE = NOW - 30 * MINUTE


def obstacle(**changes: Any) -> tuple[str, bool] | None:
    facts: dict[str, Any] = {
        "was_all_shown": True,
        "shows_later_mail": True,
        "walked_at": NOW,
        "reconcilable_at": may_be_reconciled_at(
            UNRECONCILED_SINCE, deadline_s=120, last_lookup_after_s=900
        ),
        "backup_not_before": NOW - timedelta(days=2),
        "silence": silence(),
    }
    found = obstacle_to(**facts | changes)
    return (found.sentence, found.is_worth_waiting_for) if found else None


def test_an_edition_is_reconciled_when_all_was_shown_and_silence_counts() -> None:
    assert obstacle() is None


@pytest.mark.parametrize(
    ("change", "words", "is_worth_waiting_for"),
    [
        ({"was_all_shown": False}, "did not show all", True),
        ({"shows_later_mail": False}, "lags", True),
        ({"walked_at": NOW - 14 * MINUTE}, "11:47:00 UTC", True),
        ({"backup_not_before": NOW - timedelta(days=45)}, "forgotten", False),
    ],
)
def test_what_stands_in_the_way_is_named(
    change: dict[str, Any], words: str, is_worth_waiting_for: bool
) -> None:
    found = obstacle(**change)
    assert found is not None
    assert words in found[0]
    assert found[1] is is_worth_waiting_for


def test_a_call_that_was_in_the_air_has_its_deadline_and_then_all_look_ups() -> None:
    at = may_be_reconciled_at(NOW, deadline_s=120, last_lookup_after_s=900)
    assert at - NOW == timedelta(seconds=1020)


@given(st.lists(st.integers(1, 10**12)), st.lists(st.integers(1, 10**12)))
def test_whoever_was_seen_is_remembered_and_nobody_else(seen: list[int], others: list[int]) -> None:
    remembered = Seen()
    news = [remembered.add(recipient) for recipient in seen]
    assert sum(news) == len(set(seen))
    for recipient in (*seen, *others):
        assert (recipient in remembered) == (recipient in set(seen))


def test_a_million_recipients_are_remembered_in_little_room() -> None:
    remembered = Seen()
    for recipient in range(1_000_000):
        remembered.add(recipient)
    assert sum(len(bits) for bits in remembered._stretches.values()) < 130_000

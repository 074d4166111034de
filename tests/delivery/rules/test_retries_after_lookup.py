"""Every decision about unknown copies after a look-up or a crash."""

from datetime import UTC, datetime

import pytest

from delivery.rules.after_call_or_lookup import (
    AttemptCounters,
    Policy,
    after_lookup,
    needs_check_mail,
)
from delivery.rules.call_results import (
    FoundMessage,
    LaterMail,
    LookupResult,
    SearchAnswered,
    SearchFailed,
)
from delivery.rules.outcomes import Failed, Next, Sent, Settlement
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.because import because
from tests.delivery.rules.describe_settlement import HOLDING, POLICY, in_words

AT = datetime(2026, 5, 4, 14, 15, 22, tzinfo=UTC)
SHORT = Policy(5, 900, 10, (0.2,), resend_when_absent=True)
PATIENCE = SearchFailed(because("429."), retry_after_s=60.0)


def found(*numbers: int) -> SearchAnswered:
    return SearchAnswered([FoundMessage(f"key.{number}", f"id-{number}", AT) for number in numbers])


def settle(
    answer: LookupResult,
    count: int,
    *,
    later_mail: LaterMail = LaterMail.SHOWN,
    check_mail_age_s: float = 0.0,
    forgotten: bool = False,
    elapsed_s: float = 1e6,
    lookups: int = 0,
    tries: int = 0,
    deferrals: int = 0,
    crashes: int = 0,
    policy: Policy = POLICY,
) -> Settlement:
    return after_lookup(
        answer,
        {f"key.{number}": number for number in range(1, count + 1)},
        AttemptCounters(tries=tries, deferrals=deferrals, crashes=crashes, lookups=lookups),
        later_mail=later_mail,
        check_mail_age_s=check_mail_age_s,
        forgotten=forgotten,
        elapsed_s=elapsed_s,
        jitter=0.5,
        policy=policy,
    )


def decision(answer: LookupResult, count: int, **given: object) -> str:
    return in_words(settle(answer, count, **given), range(1, count + 1))  # type: ignore[arg-type]


def test_found_copy_is_sent_with_provider_id_and_time() -> None:
    settlement = settle(found(1, 2), 2)
    assert settlement.outcomes == {1: Sent("id-1", AT), 2: Sent("id-2", AT)}
    assert in_words(settlement, [1, 2]) == "sent, sent: done"


def test_results_of_other_deliveries_are_ignored() -> None:
    settlement = settle(found(1, 77), 1)
    assert settlement.outcomes == {1: Sent("id-1", AT)}
    assert in_words(settlement, [1]) == "sent: done"


def test_each_absence_leads_to_the_next_look_up() -> None:
    assert decision(found(1), 2, lookups=0) == (
        "sent, as it was: look up not before 216 s, 300 s after it became unknown, said absent"
    )
    assert decision(found(), 1, lookups=1) == (
        "as it was: look up not before 540 s, 900 s after it became unknown, said absent"
    )


@pytest.mark.parametrize(
    ("answer", "count", "given", "words"),
    [
        (found(1), 2, {"lookups": 2}, "sent, waiting: try again, a try is used up, said absent"),
        (found(), 1, {"policy": SHORT}, "waiting: try again, a try is used up, said absent"),
        # The clock was set back after two look-ups. These look-ups still count.
        (
            found(),
            1,
            {"lookups": 2, "elapsed_s": 0.0},
            "waiting: try again, a try is used up, said absent",
        ),
        (PATIENCE, 1, {}, "as it was: look up in 60 s, deferral 1"),
        (PATIENCE, 1, {"deferrals": 10}, "as it was: look up in 450 s, deferral 11"),
        (found(1, 2), 2, {"forgotten": True}, "sent, sent: done"),
    ],
)
def test_look_up_follows_the_schedule(
    answer: LookupResult, count: int, given: dict[str, object], words: str
) -> None:
    assert decision(answer, count, **given) == words


@pytest.mark.parametrize(
    ("elapsed_s", "deferrals", "words"),
    [
        (59.0, 0, "look up in 1 s, deferral 1"),
        (0.0, 2, "look up in 10 s, deferral 3"),
        # The look-up is due, but the call's deadline is still 100 s ahead. The schedule counts from
        # the deadline.
        (-100.0, 10, "look up not before 160 s, -100 s after it became unknown, deferral 11"),
        (-100.0, 1, "look up not before 5 s, -100 s after it became unknown, deferral 2"),
    ],
)
def test_absence_before_the_schedule_begins_does_not_count(
    elapsed_s: float, deferrals: int, words: str
) -> None:
    then = decision(found(1), 2, elapsed_s=elapsed_s, deferrals=deferrals)
    assert then == f"sent, as it was: {words}"


def test_held_copies_are_not_resent_without_a_decision() -> None:
    settlement = settle(found(1), 2, lookups=2, policy=HOLDING)
    assert in_words(settlement, [1, 2]) == "sent, as it was: wait for a decision, said absent"
    assert settlement.reason == Reason.of(ReasonCode.NOT_FOUND_HELD)


def test_last_look_up_fails_absent_and_sends_found_copies() -> None:
    settlement = settle(found(1), 2, lookups=2, tries=9)
    assert in_words(settlement, [1, 2]) == "sent, missed: done, said absent"
    last = Reason.of(ReasonCode.NOT_FOUND)
    reason = Reason.of(ReasonCode.TRIES_USED_UP, tries=10, last=last)
    assert settlement.outcomes[2] == Failed(reason)


@pytest.mark.parametrize("lookups", [0, 2, 50])
@pytest.mark.parametrize("later_mail", [LaterMail.HIDDEN, LaterMail.CHECK_MAIL_HIDDEN])
def test_silence_never_counts_while_later_mail_is_hidden(
    later_mail: LaterMail, lookups: int
) -> None:
    assert decision(found(1), 2, later_mail=later_mail, lookups=lookups, deferrals=1) == (
        "sent, as it was: look up in 5 s, deferral 2"
    )


def test_the_last_silence_counts_only_with_later_mail() -> None:
    given = {"later_mail": LaterMail.NONE, "elapsed_s": 900.0}
    assert decision(found(), 1, lookups=1, **given).endswith(
        "900 s after it became unknown, said absent"
    )
    settlement = settle(found(1), 2, lookups=2, **given)  # type: ignore[arg-type]
    assert in_words(settlement, [1, 2]) == "sent, as it was: look up in 2.5 s, deferral 1"
    assert settlement.reason == Reason.of(ReasonCode.NO_LATER_MAIL, for_s=3600.0)


@pytest.mark.parametrize(
    ("later_mail", "elapsed_s", "check_mail_age_s", "waits"),
    [
        (LaterMail.CHECK_MAIL_HIDDEN, 9_999.0, 3_599.0, True),
        (LaterMail.CHECK_MAIL_HIDDEN, 9_999.0, 3_600.0, False),
        (LaterMail.NONE, 3_599.0, 0.0, True),
        (LaterMail.NONE, 3_600.0, 0.0, False),
        (LaterMail.HIDDEN, 9_999.0, 9_999.0, True),
    ],
)
def test_unproved_silence_is_left_to_an_author_or_operator(
    later_mail: LaterMail, elapsed_s: float, check_mail_age_s: float, waits: bool
) -> None:
    settlement = settle(
        found(),
        1,
        later_mail=later_mail,
        elapsed_s=elapsed_s,
        check_mail_age_s=check_mail_age_s,
        lookups=2,
    )
    if waits:
        assert settlement.next is Next.LOOK_UP
        return
    assert in_words(settlement, [1]) == "as it was: wait for a decision"
    assert settlement.reason == Reason.of(ReasonCode.NOT_FOUND_UNPROVED)


@pytest.mark.parametrize(
    ("answer", "lookups", "elapsed_s", "policy", "needed"),
    [
        (found(), 1, 300.0, POLICY, True),
        (found(1), 2, 900.0, POLICY, True),
        (found(), 0, 60.0, POLICY, False),
        (found(), 0, 0.2, SHORT, True),
        (found(), 0, 0.1, SHORT, False),
        (found(1, 2), 2, 900.0, POLICY, False),
        (PATIENCE, 2, 900.0, POLICY, False),
        (found(), 2, 900.0, HOLDING, False),
    ],
)
def test_check_mail_is_sent_only_before_silence_counts(
    answer: LookupResult, lookups: int, elapsed_s: float, policy: Policy, needed: bool
) -> None:
    counters = AttemptCounters(lookups=lookups)
    unknown = {"key.1": 1, "key.2": 2}
    assert needed is needs_check_mail(answer, unknown, counters, elapsed_s=elapsed_s, policy=policy)


@pytest.mark.parametrize("lookups", [0, 2, 50])
def test_failed_search_never_counts_as_absence(lookups: int) -> None:
    failed = SearchFailed(because("The search is down."))
    assert decision(failed, 2, lookups=lookups, tries=9, crashes=9) == (
        "as it was, as it was: look up in 2.5 s, deferral 1"
    )


def test_an_answered_look_up_resets_the_deferrals() -> None:
    assert settle(found(), 1, deferrals=7).new_deferrals == 0


TWICE = SearchAnswered(
    [
        FoundMessage("key.1", "id-1", AT),
        FoundMessage("key.1", "id-1-again", AT),
        FoundMessage("key.2", "id-2", AT),
    ]
)


def test_second_found_copy_is_reported_as_duplicate() -> None:
    settlement = settle(TWICE, 2)
    assert in_words(settlement, [1, 2]) == "sent, sent: done, 1 on top"
    assert settlement.outcomes[1] == Sent("id-1", AT)
    assert settlement.duplicates == {1: [Sent("id-1-again", AT)]}


@pytest.mark.parametrize(
    ("given", "then"),
    [
        ({"later_mail": LaterMail.HIDDEN}, "look up in 2.5 s, deferral 1, 1 on top"),
        ({}, "look up not before 216 s, 300 s after it became unknown, said absent, 1 on top"),
        ({"lookups": 2}, "try again, a try is used up, said absent, 1 on top"),
        ({"lookups": 2, "policy": HOLDING}, "wait for a decision, said absent, 1 on top"),
    ],
)
def test_duplicate_is_reported_with_unknown_copies(given: dict[str, object], then: str) -> None:
    words = decision(TWICE, 3, **given)
    assert words.split(": ")[1] == then


@pytest.mark.parametrize(
    ("crashes", "count", "answer", "words"),
    [
        (1, 1, found(), "waiting: try again, a try is used up, said absent"),
        (1, 2, found(), "waiting, waiting: try again, a try is used up, said absent"),
        (2, 2, found(), "waiting, waiting: halve, a try is used up, said absent"),
        (2, 3, found(1), "sent, waiting, waiting: halve, a try is used up, said absent"),
        # The last copy of a larger batch is sent once more, in a call of its own.
        (2, 2, found(1), "sent, waiting: try again, a try is used up, said absent"),
        (2, 1, found(), "missed: done, said absent"),
        (3, 1, found(), "missed: done, said absent"),
        (9, 2, found(1, 2), "sent, sent: done"),
    ],
)
def test_batch_with_two_crashes_is_halved_and_parked(
    crashes: int, count: int, answer: SearchAnswered, words: str
) -> None:
    assert decision(answer, count, lookups=2, crashes=crashes) == words


@pytest.mark.parametrize("lookups", [0, 2])
@pytest.mark.parametrize("later_mail", LaterMail)
def test_forgotten_unknown_copies_need_a_decision(lookups: int, later_mail: LaterMail) -> None:
    settlement = settle(found(1), 2, forgotten=True, later_mail=later_mail, lookups=lookups)
    assert in_words(settlement, [1, 2]) == "sent, as it was: wait for a decision"
    assert settlement.reason == Reason.of(ReasonCode.PROVIDER_HAS_FORGOTTEN)


def test_failed_look_up_of_forgotten_copies_proves_nothing() -> None:
    settlement = settle(SearchFailed(because("Postmark is away.")), 1, forgotten=True)
    assert settlement.reason == because("Postmark is away.")

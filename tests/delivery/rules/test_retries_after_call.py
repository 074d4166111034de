"""Every decision after a call, in a table."""

import pytest

from delivery.rules.after_call_or_lookup import (
    SHORTEST_PAUSE_S,
    AttemptCounters,
    after_call,
    delay_after,
)
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    MessageResult,
    NotSent,
    NotTried,
    RefusedByProxy,
    RejectedForAll,
    TooLarge,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Next, Sent, Settlement, Suppressed
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.because import because
from tests.delivery.rules.describe_settlement import POLICY, in_words

SENT = Sent("id", None)
INACTIVE = Suppressed(because("Suppressed."))
REFUSED = Failed(because("No such address."), refused=True)
LATER = Deferred(because("Not now."))
OPEN = Unanswered(because("No answer."))
FAULT = RejectedForAll(because("The sender is not confirmed. Confirm it."))


def settle(
    answer: CallResult,
    count: int,
    *,
    tries: int = 0,
    deferrals: int = 0,
    blocked: int = 0,
    jitter: float = 0.5,
) -> Settlement:
    return after_call(
        answer,
        range(1, count + 1),
        AttemptCounters(tries, deferrals, blocked),
        jitter=jitter,
        policy=POLICY,
    )


AGAIN = "try again in 2.5 s"
FOR_A_DECISION = "wait for a decision, the edition stops"
LOOK_UP = "look up 60 s after it became unknown"
BY_MESSAGE: list[tuple[list[MessageResult], str]] = [
    ([SENT, SENT], "sent, sent: done"),
    ([SENT, INACTIVE, REFUSED], "sent, suppressed, refused: done"),
    ([SENT, LATER], f"sent, as it was: {AGAIN}, a try is used up, deferral 1"),
    ([LATER, LATER], f"as it was, as it was: {AGAIN}, a try is used up, deferral 1"),
    ([SENT, OPEN], f"sent, unknown: {LOOK_UP}"),
    # If a batch has unknown copies too, its deferred copies wait until no copy is unknown.
    ([LATER, OPEN], f"as it was, unknown: {LOOK_UP}"),
    ([SENT, FAULT], f"sent, as it was: {FOR_A_DECISION}"),
    ([FAULT, LATER], f"as it was, as it was: {FOR_A_DECISION}"),
    (
        [SENT, OPEN, FAULT, LATER],
        f"sent, unknown, as it was, as it was: {LOOK_UP}, the edition stops",
    ),
]


@pytest.mark.parametrize(("answers", "decision"), BY_MESSAGE, ids=[row[1] for row in BY_MESSAGE])
def test_one_result_per_message_decides_each_message(
    answers: list[MessageResult], decision: str
) -> None:
    settlement = settle(Answered(answers), len(answers))
    assert in_words(settlement, range(1, len(answers) + 1)) == decision


AS_A_WHOLE: list[tuple[CallResult, int, int, str]] = [
    # Columns: the answer, the number of messages, the earlier deferrals, the decision.
    (AllAccepted(["a", "b"], [None, None]), 2, 0, "sent, sent: done"),
    (Unanswered(because("Reset.")), 2, 0, f"unknown, unknown: {LOOK_UP}"),
    (NotSent(because("Failed.")), 2, 0, f"as it was, as it was: {AGAIN}, deferral 1"),
    (NotSent(because("Failed.")), 1, 3, "as it was: try again in 20 s, deferral 4"),
    (Deferred(because("429."), None), 1, 0, f"as it was: {AGAIN}, deferral 1"),
    (Deferred(because("429."), 60.0), 1, 0, "as it was: try again in 60 s, deferral 1"),
    # A shorter Retry-After does not shorten the backoff after many failures.
    (Deferred(because("429."), 1.0), 1, 6, "as it was: try again in 160 s, deferral 7"),
    # Even in a long outage no try is used up, and the pause has a maximum.
    (Deferred(because("503."), None), 1, 5_000, "as it was: try again in 450 s, deferral 5001"),
    (RefusedByProxy(because("403. Look.")), 1, 1, "as it was: try again in 5 s, deferral 2"),
    (TooLarge(because("413.")), 2, 0, "as it was, as it was: halve"),
    (TooLarge(because("413.")), 1, 0, f"as it was: {FOR_A_DECISION}"),
    (FAULT, 1, 0, f"as it was: {FOR_A_DECISION}"),
]


@pytest.mark.parametrize(("answer", "count", "deferrals", "decision"), AS_A_WHOLE)
def test_one_result_for_a_whole_call_decides_every_message(
    answer: CallResult, count: int, deferrals: int, decision: str
) -> None:
    settlement = settle(answer, count, deferrals=deferrals)
    assert in_words(settlement, range(1, count + 1)) == decision


@pytest.mark.parametrize(("blocked", "stops"), [(0, False), (1, False), (2, True)])
def test_three_blocked_calls_in_a_row_stop_the_edition(blocked: int, stops: bool) -> None:
    # Earlier deferrals of other kinds do not count.
    settlement = settle(RefusedByProxy(because("403. Look.")), 1, deferrals=7, blocked=blocked)
    assert bool(settlement.stop_edition) is stops
    assert settlement.new_blocked == (0 if stops else blocked + 1)


def test_other_answer_resets_the_blocked_count() -> None:
    assert settle(Deferred(because("429.")), 1, blocked=2).new_blocked == 0


def test_the_first_fault_stops_the_edition() -> None:
    assert settle(FAULT, 1).reason == FAULT.reason
    settlement = settle(Answered([SENT, FAULT, RejectedForAll(because("Another. Do that."))]), 3)
    assert settlement.stop_edition == FAULT.reason


@pytest.mark.parametrize(
    "answer", [NotSent(because("Why.")), Deferred(because("Why.")), TooLarge(because("Why."))]
)
def test_waiting_settlement_has_a_reason(answer: CallResult) -> None:
    assert settle(answer, 2).reason == because("Why.")


def test_last_deferred_try_fails_with_its_reason() -> None:
    settlement = settle(Answered([SENT, LATER]), 2, tries=9)
    assert in_words(settlement, [1, 2]) == "sent, missed: done"
    assert settlement.outcomes[2] == Failed(
        Reason.of(ReasonCode.TRIES_USED_UP, tries=10, last=because("Not now."))
    )


def test_a_copy_that_did_not_leave_uses_up_no_try() -> None:
    settlement = settle(Answered([SENT, NotTried(because("Gone.")), LATER]), 3, tries=9)
    assert settlement.next is Next.TRY_AGAIN
    assert not settlement.counts_as_try
    assert set(settlement.outcomes) == {1}


def test_a_message_is_not_missed_before_its_last_try() -> None:
    settlement = settle(Answered([LATER]), 1, tries=8)
    assert "try again" in in_words(settlement, [1])


@pytest.mark.parametrize(
    "answer",
    [
        Deferred(because("429.")),
        TooLarge(because("413.")),
        Answered([OPEN, LATER]),
        Answered([FAULT, LATER]),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_unjudged_call_uses_up_no_try(answer: CallResult) -> None:
    settlement = settle(answer, 2, tries=9_999)
    assert not settlement.counts_as_try
    assert not any(isinstance(outcome, Failed) for outcome in settlement.outcomes.values())


@pytest.mark.parametrize(
    ("deferrals", "longest"),
    [(0, 5), (1, 10), (2, 20), (3, 40), (7, 640), (8, 900), (30, 900), (10**9, 900)],
)
def test_backoff_doubles_up_to_its_ceiling(deferrals: int, longest: float) -> None:
    assert delay_after(deferrals, 0.0, POLICY) == SHORTEST_PAUSE_S
    assert delay_after(deferrals, 1.0, POLICY) == longest
    assert delay_after(deferrals, 0.25, POLICY) == longest / 4

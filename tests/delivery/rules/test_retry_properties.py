"""Properties of every decision, after any answer."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.after_call_or_lookup import AttemptCounters, Policy, after_call, after_lookup
from delivery.rules.call_results import (
    Answered,
    CallResult,
    Deferred,
    FoundMessage,
    LaterMail,
    LookupResult,
    MessageResult,
    NotSent,
    RefusedByProxy,
    RejectedForAll,
    SearchAnswered,
    SearchFailed,
    TooLarge,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Next, Sent, Settlement, Suppressed, Unknown, Waiting
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.because import because

seconds = st.floats(0, 10_000)
reasons = st.builds(because, st.text(max_size=5))
message_results = st.one_of(
    st.builds(Sent, st.text(min_size=1, max_size=5), st.none()),
    st.builds(Suppressed, reasons),
    st.builds(Failed, reasons, st.just(True)),
    st.builds(Deferred, reasons),
    st.builds(Unanswered, reasons),
    st.builds(RejectedForAll, reasons),
)
refusals = st.one_of(
    st.builds(NotSent, reasons),
    st.builds(Deferred, reasons, st.none() | seconds),
    st.builds(RefusedByProxy, reasons),
    st.builds(TooLarge, reasons),
    st.builds(RejectedForAll, reasons),
    st.builds(Unanswered, reasons),
)
policies = st.builds(
    Policy,
    retry_base_s=seconds,
    retry_cap_s=seconds,
    max_tries=st.integers(1, 12),
    lookup_after_s=st.lists(seconds, min_size=1, max_size=4, unique=True).map(
        lambda times: tuple(sorted(times))
    ),
    resend_when_absent=st.booleans(),
)
counts = st.integers(0, 12)
situations = st.fixed_dictionaries({"jitter": st.floats(0, 1), "policy": policies})
histories = st.builds(
    AttemptCounters, tries=counts, deferrals=counts, crashes=st.integers(0, 4), lookups=counts
)


def holds_for_every(settlement: Settlement, asked: set[int]) -> None:
    assert set(settlement.outcomes) <= asked
    assert set(settlement.duplicates) <= set(settlement.outcomes)
    assert settlement.delay_s >= 0
    # Negative only to ask before the deadline.
    assert settlement.lookup_after_s >= 0 or settlement.next is Next.LOOK_UP
    if settlement.next is Next.WAIT_FOR_DECISION:
        assert settlement.reason or settlement.stop_edition


@given(st.lists(message_results, min_size=1, max_size=6), histories, situations)
def test_each_recipient_gets_the_outcome_of_their_own_message(
    answers: list[MessageResult], history: AttemptCounters, situation: dict[str, Any]
) -> None:
    policy = situation["policy"]
    recipients = range(100, 100 + len(answers))
    settlement = after_call(Answered(answers), recipients, history, **situation)
    holds_for_every(settlement, set(recipients))
    for recipient, answer in zip(recipients, answers, strict=True):
        outcome = settlement.outcomes.get(recipient)
        if isinstance(answer, Sent | Suppressed | Failed):
            assert outcome is answer
        elif isinstance(answer, Unanswered):
            assert outcome == Unknown()
        else:
            # A deferred or blocked message stays unchanged, or has used up its tries.
            assert outcome is None or (
                isinstance(answer, Deferred)
                and isinstance(outcome, Failed)
                and not outcome.refused
                and history.tries + 1 >= policy.max_tries
            )
    if any(isinstance(answer, Unanswered) for answer in answers):
        assert settlement.next is Next.LOOK_UP
        assert settlement.lookup_after_s == policy.lookup_after_s[0]
    assert bool(settlement.stop_edition) == any(
        isinstance(answer, RejectedForAll) for answer in answers
    )


@given(refusals, st.integers(1, 6), histories, situations)
def test_a_call_without_results_by_message_settles_no_delivery(
    answer: CallResult, count: int, history: AttemptCounters, situation: dict[str, Any]
) -> None:
    recipients = set(range(count))
    settlement = after_call(answer, sorted(recipients), history, **situation)
    holds_for_every(settlement, recipients)
    assert not settlement.counts_as_try
    if isinstance(answer, Unanswered):
        assert settlement.outcomes == {recipient: Unknown() for recipient in recipients}
        assert settlement.next is Next.LOOK_UP
    else:
        assert not settlement.outcomes
        assert settlement.next is not Next.DONE
    if settlement.next is Next.TRY_AGAIN:
        assert settlement.new_deferrals == history.deferrals + 1
    if isinstance(answer, Deferred) and answer.retry_after_s is not None:
        assert settlement.delay_s >= answer.retry_after_s


KEYS = ["a", "b", "c", "d", "elsewhere"]
facts = st.builds(FoundMessage, st.sampled_from(KEYS), st.text(min_size=1, max_size=4), st.none())
lookups = st.one_of(
    st.builds(SearchAnswered, st.lists(facts, max_size=6)),
    st.builds(SearchFailed, st.text(min_size=1, max_size=5), st.none() | seconds),
)


@given(
    lookups,
    st.sets(st.sampled_from(KEYS[:4]), min_size=1),
    st.sampled_from(LaterMail),
    st.floats(-200, 100_000),
    st.floats(0, 100_000),
    histories,
    situations,
)
def test_unknown_copies_wait_again_only_after_the_schedule(
    answer: LookupResult,
    keys: set[str],
    later_mail: LaterMail,
    elapsed_s: float,
    check_mail_age_s: float,
    history: AttemptCounters,
    situation: dict[str, Any],
) -> None:
    policy = situation["policy"]
    unknown = {key: ord(key) for key in keys}
    settlement = after_lookup(
        answer,
        unknown,
        history,
        later_mail=later_mail,
        check_mail_age_s=check_mail_age_s,
        elapsed_s=elapsed_s,
        **situation,
    )
    holds_for_every(settlement, set(unknown.values()))
    listed = (
        {fact.delivery for fact in answer.found} if isinstance(answer, SearchAnswered) else set()
    )
    silence_counts = (
        isinstance(answer, SearchAnswered)
        and (later_mail is LaterMail.SHOWN or not policy.resend_when_absent)
        and later_mail not in {LaterMail.HIDDEN, LaterMail.CHECK_MAIL_HIDDEN}
        and history.lookups + 1 >= len(policy.lookup_after_s)
        and (history.lookups > 0 or elapsed_s >= policy.lookup_after_s[0])
    )
    for key, recipient in unknown.items():
        outcome = settlement.outcomes.get(recipient)
        if key in listed:
            assert isinstance(outcome, Sent)
        elif not silence_counts:
            assert outcome is None
            assert settlement.next in {Next.LOOK_UP, Next.WAIT_FOR_DECISION}
            # Only missing later mail ends the look-ups.
            if settlement.next is Next.WAIT_FOR_DECISION:
                assert settlement.reason == Reason.of(ReasonCode.NOT_FOUND_UNPROVED)
                assert later_mail in {LaterMail.NONE, LaterMail.CHECK_MAIL_HIDDEN}
        elif not policy.resend_when_absent:
            assert outcome is None
            assert settlement.next is Next.WAIT_FOR_DECISION
        else:
            assert isinstance(outcome, Waiting | Failed)
    if settlement.next is Next.HALVE:
        assert sum(isinstance(outcome, Waiting) for outcome in settlement.outcomes.values()) > 1

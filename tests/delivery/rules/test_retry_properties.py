"""What holds for every decision, whatever was answered."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from delivery.rules import call_results
from delivery.rules.outcomes import Failed, Next, Sent, Settlement, Suppressed, Unknown, Waiting
from delivery.rules.retries import Policy, after_call, after_lookup

seconds = st.floats(0, 10_000)
message_answers = st.one_of(
    st.builds(call_results.Accepted, st.text(min_size=1, max_size=5), st.none()),
    st.builds(call_results.Inactive, st.text(max_size=5)),
    st.builds(call_results.Refused, st.text(max_size=5)),
    st.builds(call_results.NotNow, st.text(max_size=5)),
    st.builds(call_results.Unanswered, st.text(min_size=1, max_size=5)),
    st.builds(call_results.Fault, st.text(max_size=5), st.text(max_size=5)),
)
refusals = st.one_of(
    st.builds(call_results.NotSent, st.text(max_size=5)),
    st.builds(call_results.PutOff, st.text(max_size=5), st.none() | seconds),
    st.builds(call_results.Blocked, st.text(max_size=5), st.text(max_size=5)),
    st.builds(call_results.TooLarge, st.text(max_size=5)),
    st.builds(call_results.CallFault, st.builds(call_results.Fault, st.just("a"), st.just("b"))),
    st.builds(call_results.CallUnanswered, st.text(max_size=5)),
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
situations = st.fixed_dictionaries(
    {"tries": counts, "setbacks": counts, "jitter": st.floats(0, 1), "policy": policies}
)

EXPECTED = {
    call_results.Accepted: Sent,
    call_results.Inactive: Suppressed,
    call_results.Refused: Failed,
    call_results.Unanswered: Unknown,
}


def holds_for_every(settlement: Settlement, asked: set[int]) -> None:
    assert set(settlement.fates) <= asked
    assert set(settlement.duplicates) <= set(settlement.fates)
    assert settlement.delay_s >= 0
    assert settlement.lookup_after_s >= 0
    if settlement.next is Next.WAIT_FOR_A_PERSON:
        assert settlement.reason or settlement.stop_edition


@given(st.lists(message_answers, min_size=1, max_size=6), situations)
def test_each_recipient_gets_the_fate_of_their_own_message(
    answers: list[call_results.MessageResult], situation: dict[str, Any]
) -> None:
    policy = situation["policy"]
    recipients = range(100, 100 + len(answers))
    settlement = after_call(call_results.Answered(answers), recipients, **situation)
    holds_for_every(settlement, set(recipients))
    for recipient, answer in zip(recipients, answers, strict=True):
        fate = settlement.fates.get(recipient)
        if type(answer) in EXPECTED:
            assert type(fate) is EXPECTED[type(answer)]
        else:
            # Judged and put off, or held up by a fault: it stays as it was or has had its tries.
            assert fate is None or (
                isinstance(answer, call_results.NotNow)
                and isinstance(fate, Failed)
                and not fate.refused
                and situation["tries"] + 1 >= policy.max_tries
            )
    if any(isinstance(answer, call_results.Unanswered) for answer in answers):
        assert settlement.next is Next.ASK
        assert settlement.lookup_after_s == policy.lookup_after_s[0]
    assert bool(settlement.stop_edition) == any(
        isinstance(answer, call_results.Fault) for answer in answers
    )


@given(refusals, st.integers(1, 6), situations)
def test_a_call_without_answers_by_message_never_settles_anybody(
    answer: call_results.CallResult, count: int, situation: dict[str, Any]
) -> None:
    recipients = set(range(count))
    settlement = after_call(answer, sorted(recipients), **situation)
    holds_for_every(settlement, recipients)
    assert not settlement.counts_as_try
    if isinstance(answer, call_results.CallUnanswered):
        assert settlement.fates == {recipient: Unknown() for recipient in recipients}
        assert settlement.next is Next.ASK
    else:
        assert not settlement.fates
        assert settlement.next is not Next.DONE
    if settlement.next is Next.TRY_AGAIN:
        assert settlement.new_setbacks == situation["setbacks"] + 1
    if isinstance(answer, call_results.PutOff) and answer.retry_after_s is not None:
        assert settlement.delay_s >= answer.retry_after_s


KEYS = ["a", "b", "c", "d", "elsewhere"]
facts = st.builds(
    call_results.Found, st.sampled_from(KEYS), st.text(min_size=1, max_size=4), st.none()
)
look_ups = st.one_of(
    st.builds(call_results.LookedUp, st.lists(facts, max_size=6)),
    st.builds(call_results.NoInformation, st.text(min_size=1, max_size=5), st.none() | seconds),
)


@given(
    look_ups,
    st.sets(st.sampled_from(KEYS[:4]), min_size=1),
    st.booleans(),
    counts,
    st.integers(0, 4),
    situations,
)
def test_nobody_in_doubt_waits_again_before_the_last_convincing_silence(
    answer: call_results.LookupResult,
    keys: set[str],
    convincing: bool,
    lookups: int,
    crashes: int,
    situation: dict[str, Any],
) -> None:
    policy = situation["policy"]
    in_doubt = {key: ord(key) for key in keys}
    settlement = after_lookup(
        answer, in_doubt, convincing=convincing, lookups=lookups, crashes=crashes, **situation
    )
    holds_for_every(settlement, set(in_doubt.values()))
    listed = (
        {fact.delivery for fact in answer.found}
        if isinstance(answer, call_results.LookedUp)
        else set()
    )
    silence_counts = (
        isinstance(answer, call_results.LookedUp)
        and convincing
        and lookups + 1 >= len(policy.lookup_after_s)
    )
    for key, recipient in in_doubt.items():
        fate = settlement.fates.get(recipient)
        if key in listed:
            assert isinstance(fate, Sent)
        elif not silence_counts:
            assert fate is None
            assert settlement.next is Next.ASK
        elif not policy.resend_when_absent:
            assert fate is None
            assert settlement.next is Next.WAIT_FOR_A_PERSON
        else:
            assert isinstance(fate, Waiting | Failed)
    if settlement.next is Next.HALVE:
        assert sum(isinstance(fate, Waiting) for fate in settlement.fates.values()) > 1

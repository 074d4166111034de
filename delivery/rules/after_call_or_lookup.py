"""Decide what happens to a batch after a call, a look-up or a crash.

The caller passes the random number (`jitter`, from 0 to 1) and the times of the database.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    FoundMessage,
    LaterMail,
    LookupResult,
    MessageResult,
    NotSent,
    NotTried,
    RefusedByProxy,
    RejectedForAll,
    SearchAnswered,
    SearchFailed,
    TooLarge,
    Unanswered,
)
from delivery.rules.outcomes import (
    AllSent,
    Failed,
    Next,
    Outcome,
    Sent,
    Settlement,
    Suppressed,
    Unknown,
    Waiting,
)
from delivery.rules.reason import Reason, ReasonCode, Remedy

# A firewall in front of the provider sometimes refuses one or two calls and then lets the next call
# pass.
BLOCKED_CALLS_BEFORE_STOPPING = 3

# The least pause, whatever the settings and the jitter are. Without this pause, a provider that
# refuses would be called in a tight loop.
SHORTEST_PAUSE_S = 0.02

# Before the next look-up, at least this part of the planned time must have passed. This part is
# below 1, so that a look-up that is slightly late does not delay the next look-up.
PUNCTUAL = 0.9

# Homing waits for later mail for 4 times the last time of the schedule. This wait begins when a
# check mail is accepted. Until then, the wait counts from the call. After the wait, an author or
# operator decides.
PATIENCE = 4

# After this number of crashed workers in a row, their batch is suspected as the cause.
CRASHES_BEFORE_SUSPICION = 2


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that the decisions use. All times are in seconds."""

    retry_base_s: float
    retry_cap_s: float
    max_tries: int
    lookup_after_s: tuple[float, ...]
    resend_when_absent: bool

    @property
    def longest_wait_s(self) -> float:
        """The maximum time in seconds to wait until the search shows later mail."""
        return PATIENCE * self.lookup_after_s[-1]


@dataclass(frozen=True, slots=True)
class AttemptCounters:
    """Counters of a batch, such as its tries, crashes and look-ups."""

    tries: int = 0
    deferrals: int = 0
    blocked: int = 0
    crashes: int = 0
    lookups: int = 0


def delay_after(deferrals: int, jitter: float, policy: Policy) -> float:
    """Compute the seconds until the next try, with full jitter over a doubling span.

    `deferrals` is 0 for the first delay. See Brooker, “Exponential Backoff And Jitter”, AWS
    Architecture Blog, 2015.
    """
    span = min(policy.retry_cap_s, policy.retry_base_s * 2.0 ** min(deferrals, 30))
    return max(SHORTEST_PAUSE_S, jitter * span)


def after_call(
    result: CallResult,
    recipients: Sequence[int],
    history: AttemptCounters,
    *,
    jitter: float,
    policy: Policy,
) -> Settlement:
    """Decide what follows the result of a call.

    The messages of the call went to `recipients`, in the same order.
    """
    # If the provider did not judge the mail, the call uses up no try, even in a long outage.
    try_again = _put_off(Next.TRY_AGAIN, history, jitter, policy)
    match result:
        case AllAccepted(message_ids, times):
            return Settlement(Next.DONE, AllSent(recipients, message_ids, times))
        case Answered(messages):
            return _after_messages(messages, recipients, try_again, history.tries, policy)
        case Unanswered(reason):
            return Settlement(
                Next.LOOK_UP,
                {recipient: Unknown() for recipient in recipients},
                lookup_after_s=policy.lookup_after_s[0],
                reason=reason,
            )
        case NotSent(reason):
            return replace(try_again, reason=reason)
        case Deferred(reason, retry_after_s):
            delay_s = max(try_again.delay_s, retry_after_s or 0.0)
            return replace(try_again, reason=reason, delay_s=delay_s)
        case RefusedByProxy(reason):
            blocked = history.blocked + 1
            if blocked < BLOCKED_CALLS_BEFORE_STOPPING:
                return replace(try_again, reason=reason, new_blocked=blocked)
            return _stop(reason)
        case TooLarge(reason):
            if len(recipients) > 1:
                return Settlement(Next.HALVE, reason=reason)
            return _stop(reason.with_params(remedy=Remedy.SHORTEN_ISSUE))
        case RejectedForAll(reason):
            return _stop(reason)


def fail_instead_of_waiting(settlement: Settlement, recipients: Sequence[int]) -> Settlement:
    """Fail deliveries that would wait for a decision: nobody decides on test letters."""
    if settlement.next is not Next.WAIT_FOR_DECISION:
        return settlement
    reason = settlement.stop_edition or settlement.reason or Reason.of(ReasonCode.NOT_FOUND_HELD)
    failed = dict.fromkeys(recipients, Failed(reason))
    return Settlement(Next.DONE, failed | dict(settlement.outcomes), reason=reason)


def _put_off(step: Next, history: AttemptCounters, jitter: float, policy: Policy) -> Settlement:
    return Settlement(
        step,
        delay_s=delay_after(history.deferrals, jitter, policy),
        new_deferrals=history.deferrals + 1,
    )


def _stop(reason: Reason) -> Settlement:
    return Settlement(Next.WAIT_FOR_DECISION, reason=reason, stop_edition=reason)


def _after_messages(
    messages: Sequence[MessageResult],
    recipients: Sequence[int],
    try_again: Settlement,
    tries: int,
    policy: Policy,
) -> Settlement:
    outcomes: dict[int, Outcome] = {}
    put_off: dict[int, Reason] = {}
    stop: Reason | None = None
    unanswered: Reason | None = None
    untried: Reason | None = None
    wait_s = 0.0
    for recipient, message in zip(recipients, messages, strict=True):
        match message:
            case Unanswered(reason):
                outcomes[recipient] = Unknown()
                unanswered = unanswered or reason
            case Deferred(reason, retry_after_s, too_fast):
                wait_s = max(wait_s, retry_after_s or 0.0)
                if too_fast:
                    untried = untried or reason
                else:
                    put_off[recipient] = reason
            case NotTried(reason):
                untried = untried or reason
            case RejectedForAll(reason):
                stop = stop or reason
            case _:
                outcomes[recipient] = message
    if unanswered:
        # Deferred deliveries of the same call wait until the unknown deliveries are settled.
        return Settlement(
            Next.LOOK_UP,
            outcomes,
            lookup_after_s=policy.lookup_after_s[0],
            reason=unanswered,
            stop_edition=stop,
        )
    if stop:
        return replace(_stop(stop), outcomes=outcomes)
    try_again = replace(try_again, delay_s=max(try_again.delay_s, wait_s))
    if untried:
        # Tries are counted by batch, and the provider did not judge these copies.
        return replace(try_again, outcomes=outcomes, reason=untried)
    if not put_off:
        return Settlement(Next.DONE, outcomes)
    if tries + 1 >= policy.max_tries:
        used_up = {recipient: _tries_used_up(policy, last) for recipient, last in put_off.items()}
        return Settlement(Next.DONE, outcomes | used_up)
    last = next(iter(put_off.values()))
    return replace(try_again, outcomes=outcomes, counts_as_try=True, reason=last)


def _tries_used_up(policy: Policy, last: Reason) -> Failed:
    return Failed(Reason.of(ReasonCode.TRIES_USED_UP, tries=policy.max_tries, last=last))


def needs_check_mail(
    result: LookupResult,
    unknown: Mapping[str, int],
    history: AttemptCounters,
    *,
    elapsed_s: float,
    policy: Policy,
) -> bool:
    """Whether it is time for a check mail, if nothing was accepted after the call.

    The check mail is needed at the last look-up, at which an empty result may count. So the check
    mail is sent at the look-up before the last look-up.
    """
    if not policy.resend_when_absent or not isinstance(result, SearchAnswered):
        return False
    outcomes, _ = _found(result.found, unknown)
    return (
        len(outcomes) < len(unknown)
        and _early_s(history, elapsed_s, policy) <= 0
        and history.lookups + 2 >= len(policy.lookup_after_s)
    )


def _early_s(history: AttemptCounters, elapsed_s: float, policy: Policy) -> float:
    return 0.0 if history.lookups else policy.lookup_after_s[0] - elapsed_s


def after_lookup(
    result: LookupResult,
    unknown: Mapping[str, int],
    history: AttemptCounters,
    *,
    later_mail: LaterMail,
    check_mail_age_s: float = 0.0,
    forgotten: bool = False,
    elapsed_s: float,
    jitter: float,
    policy: Policy,
) -> Settlement:
    """Decide what follows a look-up.

    `unknown` maps each delivery's key to its recipient. If `forgotten`, the provider may no longer
    have a record of the call. `elapsed_s` counts from the end of the call, or from the call's
    deadline if no end was recorded. Before the deadline, `elapsed_s` is negative. An empty result
    proves nothing in three cases: the search hides `later_mail`; `forgotten` is true; the first
    time of the schedule is not reached. The last empty result counts only if the search shows later
    mail.
    """
    retry = _put_off(Next.LOOK_UP, history, jitter, policy)
    # An early look-up may come before the deadline, from which the schedule counts.
    retry = replace(retry, lookup_after_s=min(0.0, elapsed_s))
    early_s = _early_s(history, elapsed_s, policy)
    if isinstance(result, SearchFailed):
        return replace(
            retry, reason=result.reason, delay_s=max(retry.delay_s, result.retry_after_s or 0.0)
        )
    outcomes, duplicates = _found(result.found, unknown)
    absent = [recipient for recipient in unknown.values() if recipient not in outcomes]
    if not absent:
        return Settlement(Next.DONE, outcomes, duplicates=duplicates)
    if forgotten:
        decided = _wait_for_decision(ReasonCode.PROVIDER_HAS_FORGOTTEN)
    elif later_mail is LaterMail.HIDDEN:
        decided = replace(retry, reason=Reason.of(ReasonCode.LOOKUP_LAGS))
    elif later_mail is LaterMail.CHECK_MAIL_HIDDEN:
        code = ReasonCode.CHECK_MAIL_HIDDEN
        decided = _wait_for_later_mail(retry, code, check_mail_age_s, policy)
    elif early_s > 0:
        reason = Reason.of(ReasonCode.NOT_FOUND_YET)
        decided = replace(retry, reason=reason, delay_s=min(retry.delay_s, early_s))
    elif history.lookups + 1 < len(policy.lookup_after_s):
        before, after = policy.lookup_after_s[history.lookups : history.lookups + 2]
        decided = Settlement(
            Next.LOOK_UP,
            lookup_after_s=after,
            # After a clock change or a long time without workers, all look-ups would be due
            # together. But three look-ups within one second prove no more than one look-up.
            delay_s=PUNCTUAL * (after - before),
            reason=Reason.of(ReasonCode.NOT_FOUND_YET),
            confirmed_absent=True,
        )
    elif not policy.resend_when_absent:
        decided = replace(_wait_for_decision(ReasonCode.NOT_FOUND_HELD), confirmed_absent=True)
    elif later_mail is LaterMail.NONE:
        decided = _wait_for_later_mail(retry, ReasonCode.NO_LATER_MAIL, elapsed_s, policy)
    else:
        decided = _after_absence(absent, len(unknown) == 1, history, policy)
    return replace(decided, outcomes={**outcomes, **decided.outcomes}, duplicates=duplicates)


def after_wait(
    found: Sequence[FoundMessage],
    unknown: Mapping[str, int],
    history: AttemptCounters,
    *,
    may_be_reported: bool,
    policy: Policy,
) -> Settlement:
    """Decide what follows if the provider cannot be asked.

    `found` are the copies whose acceptance was reported meanwhile. If the provider reports nothing,
    waiting longer is useless. Only an author or operator sends the other copies again.
    """
    outcomes, duplicates = _found(found, unknown)
    if len(outcomes) == len(unknown):
        return Settlement(Next.DONE, outcomes, duplicates=duplicates)
    if may_be_reported and history.lookups + 1 < len(policy.lookup_after_s):
        return Settlement(
            Next.LOOK_UP,
            outcomes,
            lookup_after_s=policy.lookup_after_s[history.lookups + 1],
            reason=Reason.of(ReasonCode.NOT_REPORTED_YET),
            confirmed_absent=True,
            duplicates=duplicates,
        )
    decided = _wait_for_decision(ReasonCode.CANNOT_BE_ASKED)
    return replace(decided, outcomes=outcomes, duplicates=duplicates)


def after_repetition(
    result: CallResult | None,
    recipients: Sequence[int],
    unknown: Mapping[str, int],
    history: AttemptCounters,
    *,
    otherwise: Settlement,
    wait_s: float,
    jitter: float,
    policy: Policy,
) -> Settlement:
    """Decide what follows the repetition of a call to `recipients` with its key.

    `result` is None if the call cannot be repeated yet, for `wait_s` seconds or longer. `otherwise`
    is the decision without a repetition; copies that are not repeated follow it. Only a judgement
    of a message counts: after every other answer the first call may still have been accepted.
    """
    judged = result.messages if isinstance(result, AllAccepted | Answered) else ()
    outcomes = {
        recipient: message
        for recipient, message in zip(recipients, judged or (None,) * len(recipients), strict=True)
        if isinstance(message, Sent | Suppressed | Failed)
    }
    settled = replace(otherwise, outcomes={**otherwise.outcomes, **outcomes})
    # The service refuses the repetition, for example because its bytes differ. It would refuse it
    # until the key expires.
    if any(isinstance(one, RejectedForAll) for one in (result, *judged)):
        return settled
    if len(settled.outcomes) == len(unknown):
        return replace(settled, next=Next.DONE)
    if len(outcomes) == len(recipients):
        return settled
    retry = _put_off(Next.LOOK_UP, history, jitter, policy)
    after_s = result.retry_after_s or 0.0 if isinstance(result, Deferred) else 0.0
    return replace(
        retry,
        outcomes=settled.outcomes,
        delay_s=max(retry.delay_s, wait_s, after_s),
        reason=Reason.of(ReasonCode.REPEATED_WITH_KEY),
        duplicates=otherwise.duplicates,
    )


def _wait_for_later_mail(
    retry: Settlement, code: ReasonCode, waited_s: float, policy: Policy
) -> Settlement:
    if waited_s >= policy.longest_wait_s:
        return _wait_for_decision(ReasonCode.NOT_FOUND_UNPROVED)
    return replace(retry, reason=Reason.of(code, for_s=policy.longest_wait_s))


def _wait_for_decision(code: ReasonCode) -> Settlement:
    return Settlement(Next.WAIT_FOR_DECISION, reason=Reason.of(code))


def _found(
    found: Sequence[FoundMessage], unknown: Mapping[str, int]
) -> tuple[dict[int, Outcome], dict[int, list[Sent]]]:
    outcomes: dict[int, Outcome] = {}
    duplicates: dict[int, list[Sent]] = {}
    for message in found:
        recipient = unknown.get(message.delivery)
        if recipient is None:
            continue
        sent = Sent(message.message_id, message.at)
        if recipient in outcomes:
            duplicates.setdefault(recipient, []).append(sent)
        else:
            outcomes[recipient] = sent
    return outcomes, duplicates


def _after_absence(
    absent: Sequence[int], alone: bool, history: AttemptCounters, policy: Policy
) -> Settlement:
    suspected = history.crashes >= CRASHES_BEFORE_SUSPICION
    if history.tries + 1 >= policy.max_tries:
        failed = _tries_used_up(policy, Reason.of(ReasonCode.NOT_FOUND))
    elif suspected and alone:
        failed = parked(history.crashes)
    else:
        return Settlement(
            Next.HALVE if suspected and len(absent) > 1 else Next.TRY_AGAIN,
            dict.fromkeys(absent, Waiting()),
            counts_as_try=True,
            reason=Reason.of(ReasonCode.NOT_FOUND_RESENT),
            confirmed_absent=True,
        )
    return Settlement(Next.DONE, dict.fromkeys(absent, failed), confirmed_absent=True)


def parked(crashes: int) -> Failed:
    """Return the outcome of a delivery that crashed workers while alone in its batch."""
    return Failed(Reason.of(ReasonCode.PARKED, crashes=crashes))

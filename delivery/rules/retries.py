"""
What becomes of a batch after a call, a look-up or a lost worker.

Pure decisions: values in, values out. The caller brings the dice (`jitter`, from 0 to 1) and the
database brings the clock. `queue/` writes down what is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from delivery.rules import call_results
from delivery.rules.outcomes import (
    Failed,
    Fate,
    Next,
    Sent,
    Settlement,
    Suppressed,
    Unknown,
    Waiting,
)

# A firewall in front of the provider sometimes refuses a call or two and lets the next one pass;
# refused so many times in a row, it is a matter for a person.
BLOCKED_CALLS_BEFORE_STOPPING = 3

# Whatever the settings and the dice say: a provider that refuses must not be asked in a tight loop.
SHORTEST_PAUSE_S = 0.02

# Of the time between two look-ups of the schedule, what has to pass between them in any case. Not
# all of it: one that came a moment late should not put off those after it.
PUNCTUAL = 0.9

# A batch that was in the hands of this many lost workers is suspected of having ended them.
CRASHES_BEFORE_SUSPICION = 2


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that the decisions rest on. Times in seconds."""

    retry_base_s: float
    retry_cap_s: float
    max_tries: int
    lookup_after_s: tuple[float, ...]
    resend_when_absent: bool


def delay_after(setbacks: int, jitter: float, policy: Policy) -> float:
    """
    Seconds until the next try: full jitter over a doubling span (Brooker, *Exponential Backoff
    And Jitter*, AWS Architecture Blog, 2015). `setbacks` is 0 for the first.
    """
    span = min(policy.retry_cap_s, policy.retry_base_s * 2.0 ** min(setbacks, 30))
    return max(SHORTEST_PAUSE_S, jitter * span)


def after_call(
    answer: call_results.CallResult,
    recipients: Sequence[int],
    *,
    tries: int,
    setbacks: int,
    blocked: int = 0,
    jitter: float,
    policy: Policy,
) -> Settlement:
    """
    Decide what an answer to a call for `recipients`, in that order, leads to.

    `tries`, `setbacks` and `blocked` are what the batch has behind it.
    """
    match answer:
        case call_results.Answered(messages):
            return _after_messages(messages, recipients, tries, setbacks, jitter, policy)
        case call_results.CallUnanswered(reason):
            return Settlement(
                fates={recipient: Unknown() for recipient in recipients},
                next=Next.ASK,
                lookup_after_s=policy.lookup_after_s[0],
                reason=reason,
            )
        case call_results.NotSent(reason):
            return _put_off(reason, None, setbacks, jitter, policy)
        case call_results.PutOff(reason, retry_after_s):
            return _put_off(reason, retry_after_s, setbacks, jitter, policy)
        case call_results.Blocked(reason, remedy):
            if blocked + 1 < BLOCKED_CALLS_BEFORE_STOPPING:
                put_off = _put_off(reason, None, setbacks, jitter, policy)
                return replace(put_off, new_blocked=blocked + 1)
            return _stop(call_results.Fault(reason, remedy))
        case call_results.TooLarge(reason):
            if len(recipients) > 1:
                return Settlement(fates={}, next=Next.HALVE, reason=reason)
            return _stop(
                call_results.Fault(reason, "Shorten the issue: a single copy of it is too large.")
            )
        case call_results.CallFault(fault):
            return _stop(fault)


def without_a_person(settlement: Settlement, recipients: Sequence[int]) -> Settlement:
    """
    The same for mail that waits for nobody's decision: what would stop and wait fails at once,
    with the reason. Whoever asked for it sees that, sets it right and asks again.
    """
    if settlement.next is not Next.WAIT_FOR_A_PERSON:
        return settlement
    why = settlement.stop_edition or settlement.reason
    failed: dict[int, Fate] = {recipient: Failed(why, refused=False) for recipient in recipients}
    return Settlement(fates=failed | dict(settlement.fates), next=Next.DONE, reason=why)


def _put_off(
    reason: str, retry_after_s: float | None, setbacks: int, jitter: float, policy: Policy
) -> Settlement:
    """Nothing was judged: no try is used up, however long an outage lasts."""
    delay = delay_after(setbacks, jitter, policy)
    return Settlement(
        fates={},
        next=Next.TRY_AGAIN,
        delay_s=max(delay, retry_after_s or 0.0),
        reason=reason,
        new_setbacks=setbacks + 1,
    )


def _stop(fault: call_results.Fault) -> Settlement:
    return Settlement(
        fates={},
        next=Next.WAIT_FOR_A_PERSON,
        reason=fault.reason,
        stop_edition=f"{fault.reason} {fault.remedy}",
    )


def _after_messages(
    messages: Sequence[call_results.MessageResult],
    recipients: Sequence[int],
    tries: int,
    setbacks: int,
    jitter: float,
    policy: Policy,
) -> Settlement:
    fates: dict[int, Fate] = {}
    faults: list[call_results.Fault] = []
    put_off: dict[int, str] = {}
    in_doubt = ""
    for recipient, message in zip(recipients, messages, strict=True):
        match message:
            case call_results.Accepted(message_id, at):
                fates[recipient] = Sent(message_id, at)
            case call_results.Inactive(reason):
                fates[recipient] = Suppressed(reason)
            case call_results.Refused(reason):
                fates[recipient] = Failed(reason, refused=True)
            case call_results.Unanswered(reason):
                fates[recipient] = Unknown()
                in_doubt = in_doubt or reason
            case call_results.NotNow(reason):
                put_off[recipient] = reason
            case call_results.Fault():
                faults.append(message)
    stop = f"{faults[0].reason} {faults[0].remedy}" if faults else ""
    if in_doubt:
        # Those put off in the same call wait until the doubt is settled and then go together.
        return Settlement(
            fates=fates,
            next=Next.ASK,
            lookup_after_s=policy.lookup_after_s[0],
            reason=in_doubt,
            stop_edition=stop,
        )
    if faults:
        return Settlement(
            fates=fates, next=Next.WAIT_FOR_A_PERSON, reason=faults[0].reason, stop_edition=stop
        )
    if not put_off:
        return Settlement(fates=fates, next=Next.DONE)
    if tries + 1 >= policy.max_tries:
        used_up = {
            recipient: Failed(f"All {policy.max_tries} tries are used up. Last: {why}", False)
            for recipient, why in put_off.items()
        }
        return Settlement(fates=fates | used_up, next=Next.DONE)
    return Settlement(
        fates=fates,
        next=Next.TRY_AGAIN,
        delay_s=delay_after(setbacks, jitter, policy),
        counts_as_try=True,
        reason=next(iter(put_off.values())),
        new_setbacks=setbacks + 1,
    )


def after_lookup(
    answer: call_results.LookupResult,
    in_doubt: Mapping[str, int],
    *,
    convincing: bool,
    forgotten: bool = False,
    lookups: int,
    tries: int,
    setbacks: int,
    crashes: int,
    jitter: float,
    policy: Policy,
) -> Settlement:
    """
    Decide what a look-up leads to.

    `in_doubt` maps the delivery's key to its recipient. `lookups` counts the earlier ones that
    said “not there”. `convincing` is false where something accepted later is not listed either:
    then the search lags, and its silence says nothing. Nor does it ever again where the call is
    `forgotten`: older than what the provider remembers.
    """
    if isinstance(answer, call_results.NoInformation):
        delay = delay_after(setbacks, jitter, policy)
        return Settlement(
            fates={},
            next=Next.ASK,
            delay_s=max(delay, answer.retry_after_s or 0.0),
            reason=answer.reason,
            new_setbacks=setbacks + 1,
        )
    fates, duplicates = _found(answer.found, in_doubt)
    settlement = _after_looking_up(
        fates,
        [recipient for recipient in in_doubt.values() if recipient not in fates],
        alone=len(in_doubt) == 1,
        convincing=convincing,
        forgotten=forgotten,
        lookups=lookups,
        tries=tries,
        setbacks=setbacks,
        crashes=crashes,
        jitter=jitter,
        policy=policy,
    )
    return replace(settlement, duplicates=duplicates)


def _found(
    found: Sequence[call_results.Found], in_doubt: Mapping[str, int]
) -> tuple[dict[int, Fate], dict[int, list[Sent]]]:
    """The first acceptance of each delivery in doubt, and whatever acceptances came on top."""
    fates: dict[int, Fate] = {}
    duplicates: dict[int, list[Sent]] = {}
    for fact in found:
        recipient = in_doubt.get(fact.delivery)
        if recipient is None:
            continue
        sent = Sent(fact.message_id, fact.at)
        if recipient in fates:
            duplicates.setdefault(recipient, []).append(sent)
        else:
            fates[recipient] = sent
    return fates, duplicates


def _after_looking_up(
    fates: dict[int, Fate],
    absent: Sequence[int],
    *,
    alone: bool,
    convincing: bool,
    forgotten: bool,
    lookups: int,
    tries: int,
    setbacks: int,
    crashes: int,
    jitter: float,
    policy: Policy,
) -> Settlement:
    if not absent:
        return Settlement(fates=fates, next=Next.DONE)
    if forgotten:
        return Settlement(
            fates=fates,
            next=Next.WAIT_FOR_A_PERSON,
            reason="No answer came, and it was so long ago that Postmark has forgotten it "
            "(POSTMARK_RETENTION_DAYS): a person decides.",
        )
    if not convincing:
        return Settlement(
            fates=fates,
            next=Next.ASK,
            delay_s=delay_after(setbacks, jitter, policy),
            reason="The provider's search does not show later mail yet; it is asked again.",
            new_setbacks=setbacks + 1,
        )
    if lookups + 1 < len(policy.lookup_after_s):
        return Settlement(
            fates=fates,
            next=Next.ASK,
            lookup_after_s=policy.lookup_after_s[lookups + 1],
            # And never sooner after this one than the schedule has them apart: where the clock has
            # stepped or no worker ran for long, all of them would be due at once, and asking three
            # times in a second is asking once.
            delay_s=PUNCTUAL
            * (policy.lookup_after_s[lookups + 1] - policy.lookup_after_s[lookups]),
            reason="Not found by the provider's search yet, which proves nothing this early.",
            said_absent=True,
        )
    if not policy.resend_when_absent:
        return Settlement(
            fates=fates,
            next=Next.WAIT_FOR_A_PERSON,
            reason="No answer came, Postmark's search does not show them, and they may not be "
            "sent again by themselves: a person decides.",
            said_absent=True,
        )
    return _absent(fates, absent, alone, tries, crashes, policy)


def _absent(
    fates: dict[int, Fate],
    absent: Sequence[int],
    alone: bool,
    tries: int,
    crashes: int,
    policy: Policy,
) -> Settlement:
    """The provider surely does not have these: they wait again, and a try is used up."""
    suspected = crashes >= CRASHES_BEFORE_SUSPICION
    if tries + 1 >= policy.max_tries:
        why = f"All {policy.max_tries} tries are used up. Last: no answer, and not found since."
        used_up = {recipient: Failed(why, refused=False) for recipient in absent}
        return Settlement(fates=fates | used_up, next=Next.DONE, said_absent=True)
    if suspected and alone:
        parked = {recipient: parked_outcome(crashes) for recipient in absent}
        return Settlement(fates=fates | parked, next=Next.DONE, said_absent=True)
    waits: dict[int, Fate] = {recipient: Waiting() for recipient in absent}
    return Settlement(
        fates=fates | waits,
        next=Next.HALVE if suspected and len(absent) > 1 else Next.TRY_AGAIN,
        counts_as_try=True,
        reason="No answer came and the provider surely does not have them: they go again.",
        said_absent=True,
    )


def parked_outcome(crashes: int) -> Failed:
    """The fate of a delivery that is alone in its batch and lost its worker again and again."""
    return Failed(
        f"Parked: {crashes} workers in a row were lost with it, the last with it alone.",
        refused=False,
    )


class AfterCrash(StrEnum):
    """What becomes of a batch whose worker was lost before its call."""

    READY = "ready"
    HALVE = "halve"
    PARK = "park"


def after_crash(crashes: int, waiting: int) -> AfterCrash:
    """Decide, after the `crashes`-th lost worker, about a batch with `waiting` deliveries."""
    if crashes < CRASHES_BEFORE_SUSPICION:
        return AfterCrash.READY
    return AfterCrash.HALVE if waiting > 1 else AfterCrash.PARK

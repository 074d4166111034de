"""Asks the provider about a batch in doubt, and settles it by the answer."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from uuid import UUID

from delivery.monitoring import delivery_metrics
from delivery.postmark.client import Postmark, now_s
from delivery.queue.claim import Claim
from delivery.queue.settle import settle_lookup
from delivery.rules import retries
from delivery.rules.call_results import Found, LookedUp, LookupResult, NoInformation
from delivery.rules.outcomes import Sent
from delivery.unknown.lookup_context import LookupContext, load_lookup_context

logger = logging.getLogger(__name__)

Search = Callable[[str, str], LookupResult]


def look_up(claim: Claim, postmark: Postmark, policy: retries.Policy, *, jitter: float) -> None:
    """
    Ask about everything in doubt in a batch that was claimed for it, and settle.

    No transaction is open while the provider is asked.
    """
    doubt = load_lookup_context(claim)
    # All searches of a look-up share the time of one call, which is what its lease is made for.
    deadline_at_s = now_s() + postmark.deadline_s

    def search(field_name: str, value: str) -> LookupResult:
        return postmark.search(field_name, value, stream=doubt.stream, deadline_at_s=deadline_at_s)

    # The witness is asked for first: if the search shows it now, it shows what came earlier from
    # now on. Asked for afterwards, it could have come into the index in between.
    witness = search("attempt", doubt.witness.hex) if doubt.witness else None
    convincing = witness is None or (isinstance(witness, LookedUp) and bool(witness.found))
    answer = _ask(claim.attempt, doubt, search)
    delivery_metrics.count_lookup(_named(answer))
    settlement = retries.after_lookup(
        answer,
        doubt.in_doubt,
        convincing=convincing,
        forgotten=doubt.is_forgotten,
        lookups=claim.lookups,
        tries=claim.tries,
        setbacks=claim.setbacks,
        crashes=claim.crashes,
        jitter=jitter,
        # Of a cancelled edition nothing goes again whatever the policy: what is absent is
        # withdrawn, and there is nothing left for a person to decide.
        policy=dataclasses.replace(
            policy,
            resend_when_absent=(policy.resend_when_absent or doubt.is_cancelled or doubt.is_test)
            and not doubt.bears_an_id,
        ),
    )
    if doubt.is_test:
        settlement = retries.without_a_person(settlement, list(doubt.in_doubt.values()))
    if settle_lookup(claim, settlement):
        logger.info(
            "looked up batch %d: %d of %d found; next: %s",
            claim.batch,
            sum(isinstance(fate, Sent) for fate in settlement.fates.values()),
            len(doubt.in_doubt),
            settlement.next.value,
        )


def _ask(attempt: UUID | None, doubt: LookupContext, search: Search) -> LookupResult:
    """One search by the attempt finds its whole batch; without an attempt, one a delivery."""
    if attempt is not None:
        answer = search("attempt", attempt.hex)
        return _merged(answer.found, doubt.kept) if isinstance(answer, LookedUp) else answer
    found: list[Found] = []
    for key in doubt.in_doubt:
        one = search("delivery", key)
        if isinstance(one, NoInformation):
            return one
        found.extend(one.found)
    return _merged(found, doubt.kept)


def _named(answer: LookupResult) -> str:
    """How the answer is counted."""
    match answer:
        case LookedUp(found):
            return "found" if found else "absent"
        case _:
            return "no_information"


def _merged(found: Sequence[Found], kept: Sequence[Found]) -> LookedUp:
    """What the search found and what was kept as evidence, each message once."""
    by_id = {fact.message_id: fact for fact in (*kept, *found)}
    return LookedUp(tuple(by_id.values()))

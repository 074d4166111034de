"""Looks up unknown deliveries at the provider, and settles them."""

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
    """Ask the provider about the unknown deliveries of a batch claimed for it, and settle them."""
    context = load_lookup_context(claim)
    # All searches of a look-up share the time of one call, which is what its lease is made for.
    deadline_at_s = now_s() + postmark.deadline_s

    def search(field_name: str, value: str) -> LookupResult:
        return postmark.search(
            field_name, value, stream=context.stream, deadline_at_s=deadline_at_s
        )

    # The witness is asked for first: if the search shows it now, it shows what came earlier from
    # now on. Asked for afterwards, it could have come into the index in between.
    witness = search("attempt", context.witness.hex) if context.witness else None
    convincing = witness is None or (isinstance(witness, LookedUp) and bool(witness.found))
    result = _search(claim.attempt, context, search)
    delivery_metrics.count_lookup(_metric_name(result))
    settlement = retries.after_lookup(
        result,
        context.unknown,
        claim.history,
        convincing=convincing,
        forgotten=context.is_forgotten,
        jitter=jitter,
        # Of a cancelled edition nothing goes again whatever the policy: what is absent is
        # withdrawn, and there is nothing left for a person to decide.
        policy=dataclasses.replace(
            policy,
            resend_when_absent=(
                policy.resend_when_absent or context.is_cancelled or context.is_test
            )
            and not context.has_provider_id,
        ),
    )
    if context.is_test:
        settlement = retries.fail_instead_of_waiting(settlement, list(context.unknown.values()))
    if settle_lookup(claim, settlement):
        logger.info(
            "looked up batch %d: %d of %d found; next: %s",
            claim.batch,
            sum(isinstance(outcome, Sent) for outcome in settlement.outcomes.values()),
            len(context.unknown),
            settlement.next.value,
        )


def _search(attempt: UUID | None, context: LookupContext, search: Search) -> LookupResult:
    """One search by the attempt finds its whole batch; without an attempt, one a delivery."""
    if attempt is not None:
        result = search("attempt", attempt.hex)
        return _merge(result.found, context.kept) if isinstance(result, LookedUp) else result
    found: list[Found] = []
    for key in context.unknown:
        one = search("delivery", key)
        if isinstance(one, NoInformation):
            return one
        found.extend(one.found)
    return _merge(found, context.kept)


def _metric_name(result: LookupResult) -> str:
    match result:
        case LookedUp(found):
            return "found" if found else "absent"
        case _:
            return "no_information"


def _merge(found: Sequence[Found], kept: Sequence[Found]) -> LookedUp:
    by_id = {fact.message_id: fact for fact in (*kept, *found)}
    return LookedUp(tuple(by_id.values()))

"""Look up unknown deliveries at the provider, and settle them."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import connection

from delivery.models import Edition
from delivery.monitoring.delivery_metrics import LOOKUPS
from delivery.monitoring.metrics_storage import metrics_buffer
from delivery.postmark.client import Postmark, now_s
from delivery.queue.claim import Claim
from delivery.queue.settle import settle_lookup
from delivery.rules import retry_or_settle
from delivery.rules.call_results import FoundMessage, LookupResult, SearchAnswered, SearchFailed
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import Sent, Settlement

logger = logging.getLogger(__name__)

Search = Callable[[str, str], LookupResult]


@dataclass(frozen=True, slots=True)
class LookupContext:
    """The data for one look-up, and for judging an empty result.

    `unknown` maps delivery keys to recipients. `witness` is an attempt that was accepted on the
    stream after the unknown call's deadline. While the search does not show it, an empty result
    proves nothing. `kept` is evidence that came after the claim was lost. With `has_provider_id`
    the deliveries must never be resent automatically. `is_forgotten`: the provider may no longer
    have a record of the call. `elapsed_s` counts from the call's end or its deadline."""

    stream: str
    unknown: Mapping[str, int]
    witness: UUID | None
    kept: Sequence[FoundMessage]
    has_provider_id: bool
    elapsed_s: float
    is_forgotten: bool = False
    is_cancelled: bool = False


def load_lookup_context(claim: Claim) -> LookupContext:
    """Load the context of a batch that was claimed for a look-up."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT stream, coalesce(deadline_at, unknown_since),
                   least(coalesce(started_at, unknown_since),
                         (SELECT min(sent_at) FROM delivery
                          WHERE batch_id = batch.id AND outcome = 'unknown'))
                       < clock_timestamp() - make_interval(days => %s),
                   control = 'cancelled',
                   extract(epoch FROM clock_timestamp() - unknown_since)::float8
            -- With OFFSET, PostgreSQL reads one batch by its key.
            FROM (SELECT * FROM batch WHERE id = %s OFFSET 0) AS batch
                 JOIN edition ON edition.id = edition_id
                 LEFT JOIN (SELECT id, started_at, deadline_at FROM attempt) AS call
                        ON call.id = attempt
            """,
            [settings.POSTMARK_RETENTION_DAYS - 1, claim.batch],
        )
        stream, since, is_forgotten, is_cancelled, elapsed_s = cursor.fetchone()
        cursor.execute(
            """
            SELECT recipient_id, provider_message_id IS NOT NULL FROM delivery
            WHERE batch_id = %s AND outcome = 'unknown' ORDER BY recipient_id
            """,
            [claim.batch],
        )
        rows = cursor.fetchall()
        cursor.execute(
            """
            SELECT id FROM attempt
            WHERE stream = %s AND started_at > %s AND accepted > 0
            ORDER BY started_at LIMIT 1
            """,
            [stream, since],
        )
        witness = cursor.fetchone()
        cursor.execute(
            """
            SELECT kept.* FROM unnest(%s::bigint[]) AS wanted (recipient), LATERAL (
                SELECT recipient_id, provider_message_id, accepted_at FROM evidence
                WHERE issue_id = %s AND version = %s AND recipient_id = wanted.recipient OFFSET 0
            ) AS kept
            """,
            [[recipient for recipient, _ in rows], claim.issue, claim.version],
        )
        kept = [
            FoundMessage(str(DeliveryKey(claim.issue, claim.version, recipient)), message_id, at)
            for recipient, message_id, at in cursor.fetchall()
        ]
    return LookupContext(
        stream=stream,
        unknown={
            str(DeliveryKey(claim.issue, claim.version, recipient)): recipient
            for recipient, _ in rows
        },
        witness=witness[0] if witness else None,
        kept=kept,
        has_provider_id=any(has_id for _, has_id in rows),
        elapsed_s=elapsed_s,
        is_forgotten=is_forgotten,
        is_cancelled=is_cancelled,
    )


def look_up(
    claim: Claim,
    postmark: Postmark,
    policy: retry_or_settle.Policy,
    *,
    jitter: float,
    settle: Callable[[Claim, Settlement], bool] = settle_lookup,
) -> None:
    """Ask the provider about the unknown deliveries of a claimed batch; settle them."""
    context = load_lookup_context(claim)
    # All searches of a look-up share the time of one call, for which its lease is long enough.
    deadline_at_s = now_s() + postmark.deadline_s
    search = partial(postmark.search, stream=context.stream, deadline_at_s=deadline_at_s)
    # The witness comes first: if the search shows it now, the searches that follow also show all
    # earlier mail. A later query could find a witness that was indexed in between.
    witness = search("attempt", context.witness.hex) if context.witness else None
    convincing = witness is None or (isinstance(witness, SearchAnswered) and bool(witness.found))
    result = _search(claim.attempt, context, search)
    shown = result.found if isinstance(result, SearchAnswered) else None
    metric = "no_information" if shown is None else "found" if shown else "absent"
    metrics_buffer.add(LOOKUPS, result=metric)
    is_test = claim.kind == Edition.Kind.TEST
    settlement = retry_or_settle.after_lookup(
        result,
        context.unknown,
        claim.history,
        convincing=convincing,
        forgotten=context.is_forgotten,
        elapsed_s=context.elapsed_s,
        jitter=jitter,
        # A cancelled edition is never resent, under any policy. Absent copies are withdrawn, so
        # that no decision is left.
        policy=dataclasses.replace(
            policy,
            resend_when_absent=(policy.resend_when_absent or context.is_cancelled or is_test)
            and not context.has_provider_id,
        ),
    )
    if is_test:
        settlement = retry_or_settle.fail_instead_of_waiting(
            settlement, list(context.unknown.values())
        )
    if settle(claim, settlement):
        logger.info(
            "looked up batch %d: %d of %d found; next: %s",
            claim.batch,
            sum(isinstance(outcome, Sent) for outcome in settlement.outcomes.values()),
            len(context.unknown),
            settlement.next.value,
        )


def _search(attempt: UUID | None, context: LookupContext, search: Search) -> LookupResult:
    """Search once by the attempt, which finds the whole batch.

    Without an attempt, search once per delivery."""
    by_id = {each.message_id: each for each in context.kept}
    for field_name, value in (
        [("attempt", attempt.hex)] if attempt else [("delivery", key) for key in context.unknown]
    ):
        result = search(field_name, value)
        if isinstance(result, SearchFailed):
            return result
        by_id |= {each.message_id: each for each in result.found}
    return SearchAnswered(tuple(by_id.values()))

"""Look up unknown deliveries at the provider, and settle them."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.models import Edition
from delivery.models.attempt import NO_BATCH
from delivery.monitoring.delivery_metrics import LOOKUPS
from delivery.monitoring.metrics_storage import metrics_buffer
from delivery.provider.attempt_id import is_of_this_provider
from delivery.provider.check_mail import send_check_mail
from delivery.provider.deadline_clock import now_s
from delivery.provider.provider_protocol import (
    ATTEMPT_FIELD,
    CHECK_FIELD,
    DELIVERY_FIELD,
    Asks,
    Provider,
)
from delivery.queue.claim_due_batch import Claim
from delivery.queue.settle_batch import settle_lookup
from delivery.rules import after_call_or_lookup
from delivery.rules.call_results import (
    FoundMessage,
    LaterMail,
    LookupResult,
    SearchAnswered,
    SearchFailed,
)
from delivery.rules.delivery_key import DeliveryKey
from delivery.rules.outcomes import Sent, Settlement
from delivery.unknown.repeat_with_key import Render, repeat_with_key

logger = logging.getLogger(__name__)

Search = Callable[[str, str], LookupResult]


@dataclass(frozen=True, slots=True)
class LaterAttempt:
    """A call that was accepted later on the stream, and its age."""

    attempt: UUID
    is_check_mail: bool
    age_s: float


@dataclass(frozen=True, slots=True)
class LookupContext:
    """The data for one look-up, and for judging an empty result.

    `unknown` maps delivery keys to recipients. `later` is mail that was accepted on the stream
    after the unknown call's deadline. While the search does not show this later mail, an empty
    result proves nothing. `may_check`: it is late enough to send a check mail. `kept` is evidence
    that came after the claim was lost. If `has_provider_id`, the deliveries must never be resent
    automatically. `is_forgotten`: the provider may no longer have a record of the call. `elapsed_s`
    counts from the moment at which the batch became unknown.
    """

    stream: str
    now: datetime
    is_forgotten: bool
    is_cancelled: bool
    elapsed_s: float
    unknown: Mapping[str, int]
    later: LaterAttempt | None
    may_check: bool
    kept: Sequence[FoundMessage]
    has_provider_id: bool


def load_lookup_context(claim: Claim, *, remembers_days: int) -> LookupContext:
    """Load the context of a batch that was claimed for a look-up."""

    def key(recipient: int) -> str:
        return str(DeliveryKey(claim.issue, claim.version, recipient))

    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT coalesce(deadline_at, unknown_since),
                   -- A call whose end is recorded need not be waited for beyond the schedule.
                   least(deadline_at, unknown_since + make_interval(secs => %s)),
                   stream, clock_timestamp(),
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
            [
                settings.DELIVERY_LOOKUP_AFTER_S[-1],
                remembers_days - 1,
                claim.batch,
            ],
        )
        deadline_at, since, stream, now, is_forgotten, is_cancelled, elapsed_s = cursor.fetchone()
        cursor.execute(
            """
            SELECT recipient_id, provider_message_id IS NOT NULL FROM delivery
            WHERE batch_id = %s AND outcome = 'unknown' ORDER BY recipient_id
            """,
            [claim.batch],
        )
        rows = cursor.fetchall()
        later = _load_later(cursor, stream, deadline_at, since)
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
            FoundMessage(key(recipient), message_id, at)
            for recipient, message_id, at in cursor.fetchall()
        ]
    return LookupContext(
        stream,
        now,
        is_forgotten,
        is_cancelled,
        elapsed_s,
        unknown={key(recipient): recipient for recipient, _ in rows},
        later=later,
        may_check=now > since,
        kept=kept,
        has_provider_id=any(has_id for _, has_id in rows),
    )


def _load_later(
    cursor: CursorWrapper, stream: str, deadline_at: datetime, since: datetime
) -> LaterAttempt | None:
    """Load mail that was accepted later, preferably copies after the call's deadline.

    Mail with a future time was accepted before the database's clock was set back, so it may be
    older than the call.
    """
    cursor.execute(
        """
        SELECT id, batch_id = %(no_batch)s,
               extract(epoch FROM clock_timestamp() - started_at)::float8
        FROM attempt
        WHERE id = coalesce(
            (SELECT id FROM attempt
             WHERE stream = %(stream)s AND started_at > %(deadline)s AND accepted > 0
               AND batch_id <> %(no_batch)s AND started_at <= statement_timestamp()
             ORDER BY started_at LIMIT 1),
            (SELECT id FROM attempt
             WHERE stream = %(stream)s AND started_at > %(since)s AND accepted > 0
               AND started_at <= statement_timestamp()
             ORDER BY batch_id = %(no_batch)s, started_at LIMIT 1))
        """,
        {"stream": stream, "deadline": deadline_at, "since": since, "no_batch": NO_BATCH},
    )
    row = cursor.fetchone()
    return LaterAttempt(*row) if row else None


def look_up(
    claim: Claim,
    provider: Provider,
    policy: after_call_or_lookup.Policy,
    *,
    jitter: float,
    settle: Callable[[Claim, Settlement], bool] = settle_lookup,
    render: Render | None = None,
) -> None:
    """Ask the provider about the unknown deliveries of a claimed batch; settle them.

    With `render`, a call to a provider that takes a key is repeated.
    """
    can = provider.capabilities()
    context = load_lookup_context(claim, remembers_days=can.remembers_days)
    is_test = claim.kind == Edition.Kind.TEST
    # After a change of the provider, nobody can be asked about earlier calls.
    is_elsewhere = claim.attempt is not None and not is_of_this_provider(claim.attempt)
    if is_elsewhere or not can.can_be_asked:
        waited = after_call_or_lookup.after_wait(
            context.kept,
            context.unknown,
            claim.history,
            may_be_reported=bool(can.path) and not is_elsewhere,
            policy=policy,
        )
        if render and can.repeats_with_key and not is_elsewhere:
            waited = repeat_with_key(
                claim,
                provider,
                render,
                context.unknown,
                otherwise=waited,
                jitter=jitter,
                policy=policy,
            )
        _settle_all(claim, context, waited, is_test=is_test, settle=settle)
        return
    # All searches of a look-up share the time of one call, because the lease of the batch covers
    # that time.
    deadline_at_s = now_s() + provider.deadline_s
    search = partial(provider.search, stream=context.stream, deadline_at_s=deadline_at_s)
    attempt = claim.attempt if can.asks is Asks.BY_ATTEMPT else None
    # Copies of a cancelled edition that the provider does not have are put back under any policy.
    # The queue then withdraws these copies, so nobody has to decide about them.
    policy = dataclasses.replace(
        policy,
        resend_when_absent=(policy.resend_when_absent or context.is_cancelled or is_test)
        and not context.has_provider_id,
    )
    later = context.later
    later_mail, result = _search_all(attempt, context, later, search)
    if (
        later is None
        and context.may_check
        and not context.is_forgotten
        and after_call_or_lookup.needs_check_mail(
            result, context.unknown, claim.history, elapsed_s=context.elapsed_s, policy=policy
        )
    ):
        sent = send_check_mail(
            provider,
            claim.edition,
            now=context.now,
            epoch=claim.epoch,
            deadline_at_s=deadline_at_s,
        )
        if sent is not None:
            later = LaterAttempt(sent, is_check_mail=True, age_s=0.0)
            later_mail, result = _search_all(attempt, context, later, search)
    shown = result.found if isinstance(result, SearchAnswered) else None
    metric = "no_information" if shown is None else "found" if shown else "absent"
    metrics_buffer.add(LOOKUPS, result=metric)
    settlement = after_call_or_lookup.after_lookup(
        result,
        context.unknown,
        claim.history,
        later_mail=later_mail,
        check_mail_age_s=later.age_s if later else 0.0,
        forgotten=context.is_forgotten,
        elapsed_s=context.elapsed_s,
        jitter=jitter,
        policy=policy,
    )
    _settle_all(claim, context, settlement, is_test=is_test, settle=settle)


def _settle_all(
    claim: Claim,
    context: LookupContext,
    settlement: Settlement,
    *,
    is_test: bool,
    settle: Callable[[Claim, Settlement], bool],
) -> None:
    if is_test:
        settlement = after_call_or_lookup.fail_instead_of_waiting(
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


def _search_all(
    attempt: UUID | None, context: LookupContext, later: LaterAttempt | None, search: Search
) -> tuple[LaterMail, LookupResult]:
    """Search for later mail, then for the unknown deliveries.

    The search for later mail comes first: if it finds that mail, the searches that follow also show
    all earlier mail. If the search for later mail came last, it could find later mail that was
    indexed only after the other searches.
    """
    later_mail = LaterMail.NONE
    if later is not None:
        field_name = CHECK_FIELD if later.is_check_mail else ATTEMPT_FIELD
        shown = search(field_name, later.attempt.hex)
        if isinstance(shown, SearchAnswered) and shown.found:
            later_mail = LaterMail.SHOWN
        elif later.is_check_mail:
            later_mail = LaterMail.CHECK_MAIL_HIDDEN
        else:
            later_mail = LaterMail.HIDDEN
    return later_mail, _search(attempt, context, search)


def _search(attempt: UUID | None, context: LookupContext, search: Search) -> LookupResult:
    """Search once by the attempt, which finds the whole batch.

    Without an attempt, search once per delivery.
    """
    by_id = {each.message_id: each for each in context.kept}
    by_copy = [(DELIVERY_FIELD, key) for key in context.unknown]
    for field_name, value in [(ATTEMPT_FIELD, attempt.hex)] if attempt else by_copy:
        result = search(field_name, value)
        if isinstance(result, SearchFailed):
            return result
        by_id |= {each.message_id: each for each in result.found}
    return SearchAnswered(tuple(by_id.values()))

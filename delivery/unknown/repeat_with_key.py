"""Repeat a call whose answer was lost, before its idempotency key expires.

The call is repeated here, under the lease of the look-up, and not through the queue. In the queue,
an author could pause the issue until the key has expired.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from delivery.mail.message_for_reader import Recipient
from delivery.models import Edition
from delivery.monitoring.delivery_metrics import LOOKUPS
from delivery.monitoring.metrics_storage import metrics_buffer
from delivery.provider.deadline_clock import now_s
from delivery.provider.provider_protocol import KEY_MARGIN_S, Provider
from delivery.queue.claim_due_batch import Claim
from delivery.queue.edition_control import NOT_ENDED
from delivery.queue.quarantine_sent_marks import HAS_SENT_MARK
from delivery.queue.start_call import unmailable_without_reader
from delivery.rules import after_call_or_lookup
from delivery.rules.outcomes import Sent, Settlement

logger = logging.getLogger(__name__)

# Writes the messages of a call, with the id of its attempt.
Render = Callable[[Sequence[Recipient], UUID], bytes]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A call whose key has not expired, and the copies that may be sent with it.

    The call may be repeated in `wait_s` seconds, and only if the edition `may_send`.
    """

    attempt: UUID
    wait_s: float
    may_send: bool
    rows: Sequence[Recipient]


def load_repetition(claim: Claim, *, started_within_s: float) -> Repetition | None:
    """Load the call; None if its key may expire before the repetition ends.

    Also None if the edition has ended.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT call.id, extract(epoch FROM deadline_at - clock_timestamp())::float8,
                   control = 'running' AND is_known_database_1(),
                   -- The tags of the audience, as in start_batch.
                   CASE WHEN with_tags <> '[]'
                        THEN ARRAY(SELECT (tag->>0)::integer
                                   FROM jsonb_array_elements(with_tags) AS tag) END
            FROM attempt AS call JOIN edition ON edition.id = edition_id
            WHERE call.id = %s AND control IN {NOT_ENDED}
              -- A call in the future was made before the clock was set back.
              AND started_at BETWEEN clock_timestamp() - make_interval(secs => %s)
                                 AND clock_timestamp()
            """,  # noqa: S608 -- a constant
            [claim.attempt, started_within_s],
        )
        found = cursor.fetchone()
        if found is None:
            return None
        attempt, wait_s, may_send, tags = found
        # A copy with a sent mark may have left with another call, under another key.
        cursor.execute(
            f"""
            WITH copy AS MATERIALIZED (
                SELECT recipient_id, address, name, fields FROM delivery
                WHERE batch_id = %(batch)s AND outcome = 'unknown' AND NOT {HAS_SENT_MARK})
            SELECT * FROM copy WHERE recipient_id NOT IN (
                SELECT recipient FROM readers_who_get_no_copy_1(
                    ARRAY(SELECT recipient_id FROM copy), %(kind)s, %(tags)s::integer[]))
            ORDER BY recipient_id
            """,  # noqa: S608 -- a constant
            {"batch": claim.batch, "kind": claim.kind, "tags": tags},
        )
        rows = [(who, address, name, *(own or ())) for who, address, name, own in cursor]
    if claim.kind in {Edition.Kind.TEST, Edition.Kind.INVITATION}:
        gone = unmailable_without_reader(claim.kind, {row[0]: row[1] for row in rows})
        rows = [row for row in rows if row[0] not in gone]
    return Repetition(attempt, wait_s, may_send, rows)


def repeat_with_key(
    claim: Claim,
    provider: Provider,
    render: Render,
    unknown: Mapping[str, int],
    *,
    otherwise: Settlement,
    jitter: float,
    policy: after_call_or_lookup.Policy,
) -> Settlement:
    """Repeat the call of a batch if that is safe; return what follows, or `otherwise`.

    `unknown` maps the keys of the unknown copies to their recipients.
    """
    # Read this clock before the database's clock, so nothing is written after the key's lifetime.
    deadline_at_s = now_s() + provider.deadline_s
    lifetime_s = provider.capabilities().key_lifetime_s
    found = load_repetition(claim, started_within_s=lifetime_s - provider.deadline_s - KEY_MARGIN_S)
    if found is None or not found.rows:
        return otherwise
    result = None
    # Until the call's deadline, the first call may still be in flight.
    if found.may_send and found.wait_s <= 0:
        body = render(found.rows, found.attempt)
        result = provider.send(body, [row[1] for row in found.rows], deadline_at_s=deadline_at_s)
        logger.info("repeated the call with its key: %s", type(result).__name__)
    settlement = after_call_or_lookup.after_repetition(
        result,
        [row[0] for row in found.rows],
        unknown,
        claim.history,
        otherwise=otherwise,
        wait_s=found.wait_s,
        jitter=jitter,
        policy=policy,
    )
    if result is not None:
        is_found = any(isinstance(outcome, Sent) for outcome in settlement.outcomes.values())
        metrics_buffer.add(LOOKUPS, result="found" if is_found else "no_information")
    return settlement

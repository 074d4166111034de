"""Loads what a look-up needs to know about an unknown batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import connection

from delivery.queue.claim import Claim
from delivery.rules.call_results import Found
from delivery.rules.delivery_key import DeliveryKey


@dataclass(frozen=True, slots=True)
class LookupContext:
    """What to ask on which stream, and how the provider's silence can be tested.

    `unknown` maps delivery keys to recipients. `witness` is an attempt that was accepted on the
    stream after the unknown call's deadline: while the search does not show it, its silence says
    nothing. `kept` is evidence that came after the claim was lost. With `has_provider_id` the
    deliveries must never be sent again unasked. `is_forgotten`: the provider may not remember the
    call."""

    stream: str
    unknown: Mapping[str, int]
    witness: UUID | None
    kept: Sequence[Found]
    has_provider_id: bool
    is_forgotten: bool = False
    is_cancelled: bool = False
    is_test: bool = False


def load_lookup_context(claim: Claim) -> LookupContext:
    """Load the context of a batch that was claimed for a look-up."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT stream, issue_id, version, coalesce(deadline_at, unknown_since),
                   least(coalesce(started_at, unknown_since),
                         (SELECT min(sent_at) FROM delivery
                          WHERE batch_id = batch.id AND outcome = 'unknown'))
                       < clock_timestamp() - make_interval(days => %s),
                   control = 'cancelled', kind = 'test'
            -- OFFSET keeps it one look by the key.
            FROM (SELECT * FROM batch WHERE id = %s OFFSET 0) AS batch
                 JOIN edition ON edition.id = edition_id
                 LEFT JOIN (SELECT id, started_at, deadline_at FROM attempt) AS call
                        ON call.id = attempt
            """,
            [settings.POSTMARK_RETENTION_DAYS - 1, claim.batch],
        )
        stream, issue, version, since, is_forgotten, is_cancelled, is_test = cursor.fetchone()
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
            SELECT recipient_id, provider_message_id, accepted_at FROM evidence
            WHERE issue_id = %s AND version = %s AND recipient_id = ANY(%s)
            """,
            [issue, version, [recipient for recipient, _ in rows]],
        )
        kept = [
            Found(str(DeliveryKey(issue, version, recipient)), message_id, at)
            for recipient, message_id, at in cursor.fetchall()
        ]
    return LookupContext(
        stream=stream,
        unknown={str(DeliveryKey(issue, version, recipient)): recipient for recipient, _ in rows},
        witness=witness[0] if witness else None,
        kept=kept,
        has_provider_id=any(has_id for _, has_id in rows),
        is_forgotten=is_forgotten,
        is_cancelled=is_cancelled,
        is_test=is_test,
    )

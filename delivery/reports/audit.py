"""The audit: each rule is a query that must find nothing. It reads all rows."""

from enum import Enum

from django.db import connection

from delivery.queue.batches.batch_state import IS_OPEN
from delivery.queue.batches.write_outcomes import COUNT_ROWS, COUNTS
from delivery.reports.edition_counts import rows_by_name

_COUNTED, _FOUND = (
    ", ".join(f"{row}.{name}" for name in ("size", *COUNTS)) for row in ("batch", "held")
)

# Editions whose deliveries are dropped have counts and no rows.
_HAS_ROWS = """(SELECT deliveries_dropped_at IS NULL FROM edition
                WHERE edition.id = batch.edition_id)"""


class AuditRule(Enum):
    """What must hold: the promise, the words for rows that break it, and the query for them."""

    def __init__(self, promise: str, where: str, query: str) -> None:
        self.promise = promise
        self.where = where
        self.query = query

    COUNTS_ADD_UP = (
        "the counts of every edition add up to its audience",
        "edition {edition} has {expected} readers, its batches hold {held} and count {counted}",
        """
        SELECT id AS edition, expected, held, counted
        FROM (SELECT edition.id, coalesce(sum(size), 0) AS held,
                     CASE WHEN kind = 'newsletter' THEN audience
                          ELSE coalesce(sum(size), 0) END AS expected,
                     coalesce(sum(sent + suppressed + withdrawn + failed + unknown + waiting), 0)
                         AS counted
              FROM edition LEFT JOIN batch ON batch.edition_id = edition.id
              WHERE edition.id = ANY(%s)
              GROUP BY edition.id) AS counts
        WHERE expected <> held OR expected <> counted
        """,
    )
    BATCH_COUNTS_EQUAL_ROWS = (
        "the counts of every batch equal its rows",
        "batch {batch} counts {counted} but has {found}",
        f"""
        SELECT batch.id AS batch, concat_ws('/', {_COUNTED}) AS counted,
               concat_ws('/', {_FOUND}) AS found
        FROM batch LEFT JOIN LATERAL (
            SELECT {COUNT_ROWS} FROM delivery WHERE batch_id = batch.id) AS held ON true
        WHERE batch.edition_id = ANY(%s) AND {_HAS_ROWS}
          AND ({_COUNTED}) IS DISTINCT FROM ({_FOUND})
        """,  # noqa: S608 -- a constant
    )
    # For the whole edition: a delivery that goes again in another batch leaves its count behind.
    FEEDBACK_COUNTS_EQUAL_ROWS = (
        "the bounces and complaints of every edition equal its rows",
        "edition {edition} counts {bounced}/{complained}, has {found_bounced}/{found_complained}",
        """
        SELECT edition.id AS edition, counted.bounced, counted.complained,
               held.bounced AS found_bounced, held.complained AS found_complained
        FROM edition, LATERAL (
            SELECT coalesce(sum(bounced), 0) AS bounced, coalesce(sum(complained), 0) AS complained
            FROM batch WHERE edition_id = edition.id) AS counted,
        LATERAL (
            SELECT count(bounced_at) AS bounced, count(complained_at) AS complained
            FROM delivery
            WHERE delivery.issue_id = edition.issue_id AND delivery.version = edition.version
            ) AS held
        WHERE edition.id = ANY(%s) AND deliveries_dropped_at IS NULL
          AND (counted.bounced, counted.complained) <> (held.bounced, held.complained)
        """,
    )
    DELIVERY_IS_IN_A_BATCH = (
        "every delivery of an edition is in one of its batches",
        "recipient {recipient} of edition {edition} is in batch {batch}",
        """
        SELECT recipient_id AS recipient, edition.id AS edition, batch_id AS batch
        FROM edition JOIN delivery ON delivery.issue_id = edition.issue_id
                                  AND delivery.version = edition.version
             LEFT JOIN batch ON batch.id = batch_id AND batch.edition_id = edition.id
        WHERE edition.id = ANY(%s) AND batch.id IS NULL
        """,
    )
    PROVIDER_ID_IS_UNIQUE = (
        "no two deliveries share a provider id",
        "{message_id} belongs to {deliveries} deliveries",
        """
        SELECT provider_message_id AS message_id, count(*) AS deliveries
        FROM delivery JOIN edition ON edition.issue_id = delivery.issue_id
                                  AND edition.version = delivery.version
        WHERE provider_message_id IS NOT NULL
        GROUP BY provider_message_id
        HAVING count(*) > 1 AND bool_or(edition.id = ANY(%s))
        """,
    )
    ACCEPTED_ONCE = (
        "no delivery was accepted twice",
        "recipient {recipient} of edition {edition} was also accepted as {message_id}",
        """
        SELECT delivery.recipient_id AS recipient, edition.id AS edition,
               evidence.provider_message_id AS message_id
        FROM edition JOIN evidence ON evidence.issue_id = edition.issue_id
                                  AND evidence.version = edition.version
             JOIN delivery ON delivery.issue_id = evidence.issue_id
                          AND delivery.version = evidence.version
                          AND delivery.recipient_id = evidence.recipient_id
        WHERE edition.id = ANY(%s) AND delivery.outcome = 'sent'
          AND delivery.provider_message_id <> evidence.provider_message_id
        """,
    )
    SENT_HAS_EVIDENCE = (
        "nothing is marked as sent without evidence",
        "recipient {recipient} of edition {edition} is {outcome}, sent {sent_at} as {message_id}",
        """
        SELECT recipient_id AS recipient, edition.id AS edition, outcome, sent_at,
               coalesce(provider_message_id, 'no id') AS message_id
        FROM edition JOIN delivery ON delivery.issue_id = edition.issue_id
                                  AND delivery.version = edition.version
        WHERE edition.id = ANY(%s)
          AND ((outcome = 'sent' AND (provider_message_id IS NULL OR sent_at IS NULL
                                      OR evidence IS NULL))
            OR (outcome NOT IN ('sent', 'unknown')
                AND (provider_message_id IS NOT NULL OR sent_at IS NOT NULL)))
        """,
    )
    SETTLED_HAS_NO_LEASE = (
        "nothing settled is under a lease",
        "batch {batch} is {state} and leased until {lease_until}",
        """
        SELECT id AS batch, state, lease_until
        FROM batch
        WHERE edition_id = ANY(%s) AND state IN ('done', 'parked') AND lease_until IS NOT NULL
        """,
    )
    ONLY_RUNNING_IS_QUEUED = (
        "only batches of editions that run and are reconciled are queued",
        "batch {batch} of edition {edition}, which is {control}{unreconciled}, is {state}",
        """
        SELECT batch.id AS batch, edition.id AS edition, control,
               CASE WHEN unreconciled_since IS NOT NULL
                    THEN ' and not reconciled' ELSE '' END AS unreconciled, state
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s)
          AND (control <> 'running' OR unreconciled_since IS NOT NULL)
          AND state IN ('ready', 'claimed')
          -- What was asked for meanwhile is held back when its call would start (start.py).
          AND (kind = 'newsletter'
               OR EXISTS (SELECT FROM attempt WHERE attempt.batch_id = batch.id))
        """,
    )
    PAUSED_BATCHES_ARE_PROBED = (
        "while batches of a running edition are held back, one of them goes first",
        "edition {edition} runs and holds {paused} batches back; probing: {probing}",
        """
        SELECT edition.id AS edition, count(*) FILTER (WHERE state = 'paused') AS paused, probing
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND control = 'running'
        GROUP BY edition.id, probing
        HAVING bool_or(state = 'paused')
           AND (NOT probing OR bool_and(state IN ('paused', 'parked', 'done')))
        """,
    )
    DROPPED_IS_SETTLED = (
        "editions whose deliveries were dropped are settled",
        "batch {batch} of edition {edition}, dropped at {deliveries_dropped_at}, is {state}",
        f"""
        SELECT batch.id AS batch, edition.id AS edition, deliveries_dropped_at, state
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND deliveries_dropped_at IS NOT NULL
          AND (state NOT IN ('done', 'parked')
               OR control = 'running' AND {IS_OPEN})
        """,  # noqa: S608 -- a constant
    )
    CANCELLED_WAITS_FOR_NOTHING = (
        "no delivery of a cancelled edition waits outside a call or a look-up",
        "batch {batch} of edition {edition} is {state} with {waiting} waiting",
        """
        SELECT batch.id AS batch, edition.id AS edition, state, waiting
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND control = 'cancelled' AND waiting > 0
          AND state NOT IN ('sending', 'unknown', 'looking_up')
        """,
    )


def find_violations(editions: list[int]) -> list[tuple[AuditRule, str]]:
    """Find every violation among these editions, as the broken rule and a sentence that says where;
    none if their counts balance."""
    with connection.cursor() as cursor:
        found = []
        for rule in AuditRule:
            cursor.execute(rule.query, [editions])
            for row in rows_by_name(cursor):
                found.append((rule, f"Broken: {rule.promise}: {rule.where.format(**row)}"))
    return found

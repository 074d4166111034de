"""
Checks the books: every sentence here is a query that must find nothing.

It counts the rows themselves, so it costs what the rows cost; pages never do this.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from delivery.queue.batches.active_batches import IS_OPEN


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that the rows break: which, and where."""

    promise: str
    where: str

    def __str__(self) -> str:
        return f"Broken: {self.promise[0].lower()}{self.promise[1:]}: {self.where}"


# A bare mark of having been sent counts as unknown, whatever the outcome says.
_OUTCOME = """CASE WHEN outcome = 'waiting'
                    AND (sent_at IS NOT NULL OR provider_message_id IS NOT NULL)
                   THEN 'marked' ELSE outcome END"""

# What is dropped has counts and no rows, or fewer and fewer of them.
_HAS_ROWS = """(SELECT copies_dropped_at IS NULL FROM edition
                WHERE edition.id = batch.edition_id)"""

_PROMISES: tuple[tuple[str, str], ...] = (
    (
        "The counts of every edition add up to its audience",
        """
        SELECT format('edition %%s has an audience of %%s, its batches hold %%s and count %%s',
                      id, expected, held, counted)
        FROM (SELECT edition.id, coalesce(sum(size), 0) AS held,
                     CASE WHEN kind = 'newsletter' THEN audience
                          ELSE coalesce(sum(size), 0) END AS expected,
                     coalesce(sum(sent + suppressed + withdrawn + failed + unknown + waiting), 0)
                         AS counted
              FROM edition LEFT JOIN batch ON batch.edition_id = edition.id
              WHERE edition.id = ANY(%s)
              GROUP BY edition.id) AS books
        WHERE expected <> held OR expected <> counted
        """,
    ),
    (
        "The counts of every batch equal its rows",
        f"""
        SELECT format('batch %%s counts %%s but has %%s', batch.id,
                      concat_ws('/', batch.size, batch.sent, batch.suppressed, batch.withdrawn,
                                batch.failed, batch.unknown, batch.waiting, batch.missed),
                      concat_ws('/', held.size, held.sent, held.suppressed, held.withdrawn,
                                held.failed, held.unknown, held.waiting, held.missed))
        FROM batch LEFT JOIN LATERAL (
            SELECT count(*) AS size,
                   count(*) FILTER (WHERE outcome = 'sent') AS sent,
                   count(*) FILTER (WHERE outcome = 'suppressed') AS suppressed,
                   count(*) FILTER (WHERE outcome = 'withdrawn') AS withdrawn,
                   count(*) FILTER (WHERE outcome = 'failed') AS failed,
                   count(*) FILTER (WHERE outcome = 'unknown') AS unknown,
                   count(*) FILTER (WHERE outcome IN ('waiting', 'marked')) AS waiting,
                   count(*) FILTER (WHERE missed) AS missed
            FROM (SELECT {_OUTCOME} AS outcome, missed
                  FROM delivery WHERE batch_id = batch.id) AS row
        ) AS held ON true
        WHERE batch.edition_id = ANY(%s) AND {_HAS_ROWS}
          AND (batch.size, batch.sent, batch.suppressed, batch.withdrawn, batch.failed,
               batch.unknown, batch.waiting, batch.missed)
              IS DISTINCT FROM (held.size, held.sent, held.suppressed, held.withdrawn, held.failed,
               held.unknown, held.waiting, held.missed)
        """,  # noqa: S608 -- a constant
    ),
    (
        # By the edition, because a copy that goes again in another batch leaves its count behind.
        "Bounces and complaints of every edition are counted as its rows have them",
        """
        SELECT format('edition %%s counts %%s bounced and %%s complained but has %%s and %%s',
                      edition.id, counted.bounced, counted.complained, held.bounced,
                      held.complained)
        FROM edition, LATERAL (
            SELECT coalesce(sum(bounced), 0) AS bounced, coalesce(sum(complained), 0) AS complained
            FROM batch WHERE edition_id = edition.id) AS counted,
        LATERAL (
            SELECT count(bounced_at) AS bounced, count(complained_at) AS complained
            FROM delivery
            WHERE delivery.issue_id = edition.issue_id AND delivery.version = edition.version
            ) AS held
        WHERE edition.id = ANY(%s) AND copies_dropped_at IS NULL
          AND (counted.bounced, counted.complained) <> (held.bounced, held.complained)
        """,
    ),
    (
        "Every delivery of an edition is in one of its batches",
        """
        SELECT format('recipient %%s of edition %%s is in batch %%s', recipient_id, edition.id,
                      batch_id)
        FROM edition JOIN delivery ON delivery.issue_id = edition.issue_id
                                  AND delivery.version = edition.version
             LEFT JOIN batch ON batch.id = batch_id AND batch.edition_id = edition.id
        WHERE edition.id = ANY(%s) AND batch.id IS NULL
        """,
    ),
    (
        "No two deliveries share a provider id",
        """
        SELECT format('%%s belongs to %%s deliveries', provider_message_id, count(*))
        FROM delivery JOIN edition ON edition.issue_id = delivery.issue_id
                                  AND edition.version = delivery.version
        WHERE provider_message_id IS NOT NULL
        GROUP BY provider_message_id
        HAVING count(*) > 1 AND bool_or(edition.id = ANY(%s))
        """,
    ),
    (
        "No delivery was accepted twice",
        """
        SELECT format('recipient %%s of edition %%s was also accepted as %%s',
                      delivery.recipient_id, edition.id, evidence.provider_message_id)
        FROM edition JOIN evidence ON evidence.issue_id = edition.issue_id
                                  AND evidence.version = edition.version
             JOIN delivery ON delivery.issue_id = evidence.issue_id
                          AND delivery.version = evidence.version
                          AND delivery.recipient_id = evidence.recipient_id
        WHERE edition.id = ANY(%s) AND delivery.outcome = 'sent'
          AND delivery.provider_message_id <> evidence.provider_message_id
        """,
    ),
    (
        "Nothing is marked as sent without evidence",
        """
        SELECT format('recipient %%s of edition %%s is %%s, sent at %%s under %%s', recipient_id,
                      edition.id, outcome, sent_at, coalesce(provider_message_id, 'no id'))
        FROM edition JOIN delivery ON delivery.issue_id = edition.issue_id
                                  AND delivery.version = edition.version
        WHERE edition.id = ANY(%s)
          AND ((outcome = 'sent' AND (provider_message_id IS NULL OR sent_at IS NULL
                                      OR evidence IS NULL))
            OR (outcome NOT IN ('sent', 'unknown')
                AND (provider_message_id IS NOT NULL OR sent_at IS NOT NULL)))
        """,
    ),
    (
        "Nothing settled is under a lease",
        """
        SELECT format('batch %%s is %%s and leased until %%s', id, state, lease_until)
        FROM batch
        WHERE edition_id = ANY(%s) AND state IN ('done', 'parked') AND lease_until IS NOT NULL
        """,
    ),
    (
        "Nothing is in line of an edition that is not running, or not reconciled",
        """
        SELECT format('batch %%s of edition %%s, which is %%s%%s, is %%s', batch.id, edition.id,
                      control, CASE WHEN unreconciled_since IS NOT NULL
                                    THEN ' and not reconciled' ELSE '' END, state)
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s)
          AND (control <> 'running' OR unreconciled_since IS NOT NULL)
          AND state IN ('ready', 'claimed')
          -- What was asked for meanwhile is held back when its call would start (start.py).
          AND (kind = 'newsletter'
               OR EXISTS (SELECT FROM attempt WHERE attempt.batch_id = batch.id))
        """,
    ),
    (
        "While batches of a running edition are held back one of them goes first",
        """
        SELECT format('edition %%s runs, holds %%s batches back, and %%s', edition.id,
                      count(*) FILTER (WHERE state = 'paused'),
                      CASE WHEN probing THEN 'nothing of it moves'
                           ELSE 'none is to go first' END)
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND control = 'running'
        GROUP BY edition.id, probing
        HAVING bool_or(state = 'paused')
           AND (NOT probing OR bool_and(state IN ('paused', 'parked', 'done')))
        """,
    ),
    (
        "Of an edition whose copies were dropped nothing can move any more",
        f"""
        SELECT format('batch %%s of edition %%s, dropped at %%s, is %%s', batch.id, edition.id,
                      copies_dropped_at, state)
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND copies_dropped_at IS NOT NULL
          AND (state NOT IN ('done', 'parked')
               OR control = 'running' AND {IS_OPEN})
        """,  # noqa: S608 -- a constant
    ),
    (
        "Of an edition that was cancelled nothing waits outside a call or a doubt",
        """
        SELECT format('batch %%s of edition %%s is %%s with %%s waiting', batch.id, edition.id,
                      state, waiting)
        FROM batch JOIN edition ON edition.id = edition_id
        WHERE edition.id = ANY(%s) AND control = 'cancelled' AND waiting > 0
          AND state NOT IN ('sending', 'unknown', 'looking_up')
        """,
    ),
)


def find_violations(editions: list[int]) -> list[Violation]:
    """Every breach in the books of these editions; empty if they balance."""
    breaches = []
    with connection.cursor() as cursor:
        for promise, query in _PROMISES:
            cursor.execute(query, [editions])
            breaches += [Violation(promise, row[0]) for row in cursor.fetchall()]
    return breaches

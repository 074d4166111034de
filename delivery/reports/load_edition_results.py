"""Load the results of an edition and of earlier issues from stored sums only."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from delivery.queue.batches.roll_up import COUNTED_BATCHES
from delivery.reports.load_edition_counts import rows_by_name

EARLIER = 5
_FROM_BATCHES = ("sent", "bounced", "complained")
_REACHED = "EXISTS (SELECT FROM batch WHERE batch.edition_id = {edition}.id AND batch.sent > 0)"

# An earlier issue counts once, with the first version that reached somebody.
_READ = f"""
    WITH shown AS (
        SELECT id, issue_id, published_at FROM edition WHERE id = %(edition)s
    ), chosen AS (
        SELECT id, published_at FROM shown
        UNION ALL
        (SELECT edition.id, edition.published_at FROM edition, shown
         WHERE kind = 'newsletter' AND control <> 'scheduled' AND audience > 0
           AND edition.issue_id <> shown.issue_id AND edition.published_at < shown.published_at
           AND {_REACHED.format(edition="edition")}
           AND NOT EXISTS (
               SELECT FROM edition AS earlier
               WHERE earlier.issue_id = edition.issue_id AND earlier.version < edition.version
                 AND {_REACHED.format(edition="earlier")})
         ORDER BY edition.published_at DESC, edition.id DESC LIMIT {EARLIER})
    )
    SELECT chosen.id AS edition, published_at,
           {", ".join(f"coalesce(counted.{n}, 0) AS {n}" for n in _FROM_BATCHES)},
           coalesce(result.delivered, 0) AS delivered,
           coalesce(result.unsubscribed, 0) AS unsubscribed
    FROM chosen, LATERAL (
        SELECT sum(sent)::bigint AS sent, sum(bounced)::bigint AS bounced,
               sum(complained)::bigint AS complained
        FROM {COUNTED_BATCHES} WHERE batch.edition_id = chosen.id) AS counted, LATERAL (
        SELECT sum(delivered)::bigint AS delivered, sum(unsubscribed)::bigint AS unsubscribed
        FROM edition_result WHERE edition_result.edition_id = chosen.id) AS result
    ORDER BY chosen.id = %(edition)s DESC, published_at DESC
"""  # noqa: S608 -- constants


@dataclass(frozen=True, slots=True)
class EditionResults:
    """For each kind of event: how many of an edition's `sent` copies had the event."""

    edition: int
    published_at: datetime
    sent: int
    delivered: int
    bounced: int
    complained: int
    unsubscribed: int


def load_results(edition: int) -> list[EditionResults]:
    """Load the results of an edition, then of up to five earlier issues."""
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"edition": edition})
        return [EditionResults(**row) for row in rows_by_name(cursor)]

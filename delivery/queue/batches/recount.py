"""Recounts a batch whose rows were edited by hand."""

import logging

from django.db.backends.utils import CursorWrapper

logger = logging.getLogger(__name__)


def recount(cursor: CursorWrapper, batch: int) -> None:
    """Set a batch's counts from its rows. The caller holds the batch."""
    logger.critical("batch %d is counted anew: its rows were changed by other hands", batch)
    cursor.execute(
        """
        UPDATE batch SET size = held.size, sent = held.sent, suppressed = held.suppressed,
               withdrawn = held.withdrawn, failed = held.failed, unknown = held.unknown,
               waiting = held.waiting, missed = held.missed
        FROM (SELECT count(*) AS size,
                     count(*) FILTER (WHERE outcome = 'sent') AS sent,
                     count(*) FILTER (WHERE outcome = 'suppressed') AS suppressed,
                     count(*) FILTER (WHERE outcome = 'withdrawn') AS withdrawn,
                     count(*) FILTER (WHERE outcome = 'failed') AS failed,
                     count(*) FILTER (WHERE outcome = 'unknown') AS unknown,
                     count(*) FILTER (WHERE outcome = 'waiting') AS waiting,
                     count(*) FILTER (WHERE missed) AS missed
              FROM delivery WHERE batch_id = %(batch)s) AS held
        WHERE id = %(batch)s
        """,
        {"batch": batch},
    )

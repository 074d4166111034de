"""The rate that all workers share: permits to claim, and the slowdown after a 429.

One row of a table holds the rate. A worker that finds the row locked does not wait.
"""

import logging
import math
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models.functions import Greatest, Now

from delivery.models import SendRate
from delivery.models.attempt import NO_BATCH
from delivery.queue.short_transaction import short_transaction
from delivery.rules.send_rate import Slowdown, after_too_fast, has_ended, quiet_s, rate_of

logger = logging.getLogger(__name__)

# Acceptances are measured over this time: long enough for several calls, but still recent.
MEASURED_OVER_S = 10

# In SQL: whether a 429 slows the workers down. This condition takes no lock and costs almost
# nothing.
IS_SLOWED = "EXISTS (SELECT FROM send_rate WHERE slowed_at IS NOT NULL)"

# The columns that `slowdown_from` reads.
SLOWDOWN_NAMES = ("too_fast_per_s", "slowed_to_per_s", "for_s")
SLOWDOWN_COLUMNS = (
    "too_fast_per_s, slowed_to_per_s, "
    "extract(epoch FROM clock_timestamp() - slowed_at)::float8 AS for_s"
)


def slowdown_from(cells: Sequence[float | None]) -> Slowdown | None:
    """Read the slowdown from the columns `SLOWDOWN_COLUMNS`, if there is one."""
    too_fast, to, for_s = cells
    return None if too_fast is None or to is None else Slowdown(too_fast, to, for_s or 0.0)


def is_slowed() -> bool:
    """Whether a 429 slows the workers down."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {IS_SLOWED}")
        return bool(cursor.fetchone()[0])


def ensure_row() -> None:
    """Insert the one row if a restored or emptied table lacks it.

    Call this outside any transaction: an open transaction that inserts the row would block every
    other insert. `bulk_create` is not used, because it would open a transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO send_rate (id) VALUES (1) ON CONFLICT DO NOTHING")


def acquire_permit(cursor: CursorWrapper, *, ceiling_per_s: float | None) -> float | None:
    """Take the permit to claim a batch; None if the permit is not due or was taken.

    The row stays locked until the caller's transaction ends. A slowdown that has ended is deleted.
    Returns copies per second, infinite without a limit.
    """
    cursor.execute(
        f"SELECT {SLOWDOWN_COLUMNS} FROM send_rate WHERE next_claim_at <= clock_timestamp() "  # noqa: S608 -- a constant
        "FOR UPDATE SKIP LOCKED"
    )
    row = cursor.fetchone()
    if row is None:
        return None
    slowdown = slowdown_from(row)
    if slowdown and has_ended(slowdown, ceiling_per_s):
        SendRate.objects.update(too_fast_per_s=None, slowed_to_per_s=None, slowed_at=None)
        logger.info("the lower rate after the last 429 has ended")
    return rate_of(slowdown, ceiling_per_s) or math.inf


def consume_permit(cursor: CursorWrapper, rate_per_s: float, deliveries: int) -> None:
    """Delay the next permit by the time that `deliveries` take at this rate.

    After a time without claims, the workers can make up for at most one second of that time.
    """
    cursor.execute(
        """
        UPDATE send_rate SET next_claim_at = greatest(next_claim_at, clock_timestamp()
            - interval '1 second') + make_interval(secs => %s)
        """,
        [deliveries / rate_per_s],
    )


def slow_down(
    attempt: UUID, *, ceiling_per_s: float | None, retry_after_s: float | None = None
) -> bool:
    """Halve the rate because the call of `attempt` was refused as too fast.

    Returns True if the rate was halved. Refused calls that were in flight together halve the rate
    only once. Whether or not the rate was halved, workers claim again only after `retry_after_s`.
    """
    ensure_row()
    with short_transaction() as cursor:
        quiet = timedelta(seconds=quiet_s(retry_after_s))
        SendRate.objects.update(next_claim_at=Greatest("next_claim_at", Now() + quiet))
        # The row is locked now, so a second worker reads the values that the first worker has
        # written.
        cursor.execute(
            f"""
            SELECT {SLOWDOWN_COLUMNS} FROM send_rate
            WHERE slowed_at IS NULL
               OR slowed_at < (SELECT started_at FROM attempt WHERE id = %s)
            """,  # noqa: S608 -- a constant
            [attempt],
        )
        row = cursor.fetchone()
        if row is None:
            return False
        slowdown = after_too_fast(
            slowdown_from(row), ceiling_per_s, measured_per_s=_accepted_per_s(cursor)
        )
        # The rate grows from the end of the pause that the provider asked for.
        SendRate.objects.update(
            too_fast_per_s=slowdown.too_fast_per_s,
            slowed_to_per_s=slowdown.to_per_s,
            slowed_at=Now() + quiet,
        )
    logger.warning(
        "The provider asked for a lower rate: all workers together send %g copies per second for "
        "now",
        round(slowdown.to_per_s, 1),
    )
    return True


def _accepted_per_s(cursor: CursorWrapper) -> float:
    """Compute the accepted copies per second since the first recent call began."""
    cursor.execute(
        """
        SELECT coalesce(sum(accepted), 0)::float8
               / least(%(over)s, greatest(1, extract(epoch FROM
                     clock_timestamp() - coalesce(min(started_at), clock_timestamp()))))::float8
        FROM attempt
        WHERE accepted > 0 AND batch_id <> %(no_batch)s
          AND finished_at > statement_timestamp() - make_interval(secs => %(over)s)
        """,
        {"over": MEASURED_OVER_S, "no_batch": NO_BATCH},
    )
    return float(cursor.fetchone()[0])

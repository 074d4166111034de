"""The rate that all workers share: permits to claim, and the slowdown after a 429. One row holds
it. A worker that finds it locked does not wait."""

import logging
import math
from collections.abc import Sequence
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from delivery.queue.short_transaction import short_transaction
from delivery.rules.send_rate import Slowdown, after_too_fast, has_ended, quiet_s, rate_of

logger = logging.getLogger(__name__)

# What was accepted is measured over this time: several calls long, and still the present.
MEASURED_OVER_S = 10

# In SQL, without a lock and next to free: whether a 429 slows the workers down.
IS_SLOWED = "EXISTS (SELECT FROM send_rate WHERE slowed_at IS NOT NULL)"

# What `slowdown_from` reads of the row.
SLOWDOWN_NAMES = ("too_fast_per_s", "slowed_to_per_s", "for_s")
SLOWDOWN_COLUMNS = (
    "too_fast_per_s, slowed_to_per_s, "
    "extract(epoch FROM clock_timestamp() - slowed_at)::float8 AS for_s"
)


def slowdown_from(cells: Sequence[float | None]) -> Slowdown | None:
    """The slowdown in the columns `SLOWDOWN_COLUMNS`, if any."""
    too_fast, to, for_s = cells
    return None if too_fast is None or to is None else Slowdown(too_fast, to, for_s or 0.0)


def is_slowed() -> bool:
    """Whether a 429 slows the workers down."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {IS_SLOWED}")
        return bool(cursor.fetchone()[0])


def ensure_row() -> None:
    """Insert the one row if a restored or emptied table lacks it. Outside any transaction: while
    one that inserts it is open, every other insert would wait."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO send_rate (id, next_claim_at) VALUES (1, clock_timestamp()) "
            "ON CONFLICT DO NOTHING"
        )


def acquire_permit(cursor: CursorWrapper, *, ceiling_per_s: float | None) -> float | None:
    """Take the permit to claim a batch if it is due; None if it is not, or if another takes it. The
    row stays locked until the caller's transaction ends. A slowdown that has ended is deleted.
    Returns copies per second, infinite if nothing limits them."""
    cursor.execute(
        f"SELECT {SLOWDOWN_COLUMNS} FROM send_rate WHERE next_claim_at <= clock_timestamp() "  # noqa: S608 -- a constant
        "FOR UPDATE SKIP LOCKED"
    )
    row = cursor.fetchone()
    if row is None:
        return None
    slowdown = slowdown_from(row)
    if slowdown and has_ended(slowdown, ceiling_per_s):
        cursor.execute(
            "UPDATE send_rate SET too_fast_per_s = NULL, slowed_to_per_s = NULL, slowed_at = NULL"
        )
        logger.info("the workers are back at their rate from before the last 429")
    return rate_of(slowdown, ceiling_per_s) or math.inf


def consume_permit(cursor: CursorWrapper, rate_per_s: float, copies: int) -> None:
    """Put off the next permit by as long as `copies` take at this rate. At most one unused second
    is made up for."""
    cursor.execute(
        """
        UPDATE send_rate SET next_claim_at = greatest(next_claim_at, clock_timestamp()
            - interval '1 second') + make_interval(secs => %s)
        """,
        [copies / rate_per_s],
    )


def slow_down(
    attempt: UUID, *, ceiling_per_s: float | None, retry_after_s: float | None = None
) -> bool:
    """Halve the rate because the call of `attempt` was refused as too fast; True if that was done.
    Calls in flight together halve it once. Either way no worker claims before `retry_after_s`."""
    ensure_row()
    with short_transaction() as cursor:
        cursor.execute(
            "UPDATE send_rate SET next_claim_at = greatest(next_claim_at, "
            "clock_timestamp() + make_interval(secs => %s))",
            [quiet_s(retry_after_s)],
        )
        # The row is locked by now, so the second of two reads what the first has written.
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
        # It grows from the end of the pause that the provider asked for.
        cursor.execute(
            "UPDATE send_rate SET too_fast_per_s = %s, slowed_to_per_s = %s, "
            "slowed_at = clock_timestamp() + make_interval(secs => %s)",
            [slowdown.too_fast_per_s, slowdown.to_per_s, quiet_s(retry_after_s)],
        )
    logger.warning(
        "Postmark asked for a slower rate: all workers together send %g copies a second for now",
        round(slowdown.to_per_s, 1),
    )
    return True


def _accepted_per_s(cursor: CursorWrapper) -> float:
    """Copies accepted per second lately, measured from the start of the first of those calls."""
    cursor.execute(
        """
        SELECT coalesce(sum(accepted), 0)::float8
               / least(%(over)s, greatest(1, extract(epoch FROM
                     clock_timestamp() - coalesce(min(started_at), clock_timestamp()))))::float8
        FROM attempt
        WHERE accepted > 0
          AND finished_at > statement_timestamp() - make_interval(secs => %(over)s)
        """,
        {"over": MEASURED_OVER_S},
    )
    return float(cursor.fetchone()[0])

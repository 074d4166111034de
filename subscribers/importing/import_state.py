"""How many imports are running, stalled or refused, for monitoring."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper

REFUSED_LATELY = "1 day"


@dataclass(frozen=True, slots=True)
class OpenImports:
    """Unfinished imports by state, the longest idle time, and how many were refused lately."""

    by_state: Mapping[str, int]
    stalled_s: float | None
    refused: int


def load_open_imports(cursor: CursorWrapper) -> OpenImports:
    """Count the imports; a table of some dozens."""
    cursor.execute(
        """
        SELECT state, count(*),
               extract(epoch FROM clock_timestamp() - min(coalesce(lease_until, started_at))
                   FILTER (WHERE lease_until IS NULL OR lease_until < clock_timestamp()))::float8
        FROM subscriber_import
        WHERE state IN ('checking', 'waiting', 'running')
           OR (state = 'refused' AND finished_at > clock_timestamp() - %s::interval)
        GROUP BY state
        """,
        [REFUSED_LATELY],
    )
    rows = cursor.fetchall()
    under_way = [row for row in rows if row[0] != "refused"]
    return OpenImports(
        by_state={state: number for state, number, _ in under_way},
        stalled_s=max((age for *_, age in under_way if age is not None), default=None),
        refused=sum(number for state, number, _ in rows if state == "refused"),
    )

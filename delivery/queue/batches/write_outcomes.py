"""Write the outcomes of deliveries and the counts of their batch."""

from collections import Counter
from collections.abc import Mapping

import orjson
from django.db.backends.utils import CursorWrapper

from delivery.monitoring import delivery_metrics
from delivery.rules.outcomes import (
    AllSent,
    Failed,
    Outcome,
    Sent,
    Suppressed,
    Unknown,
    Waiting,
    Withdrawn,
)

_NAMES: Mapping[type[Outcome], str] = {
    Sent: "sent",
    Suppressed: "suppressed",
    Withdrawn: "withdrawn",
    Failed: "failed",
    Unknown: "unknown",
    Waiting: "waiting",
}

COUNTS = (*_NAMES.values(), "missed")

# In SQL: the size and counts of a batch, computed from its rows.
COUNT_ROWS = ", ".join(
    (
        "count(*) AS size",
        *(f"count(*) FILTER (WHERE outcome = '{name}') AS {name}" for name in _NAMES.values()),
        "count(*) FILTER (WHERE missed) AS missed",
    )
)


def _count_by_outcome(outcomes: Mapping[int, Outcome]) -> Counter[str]:
    if isinstance(outcomes, AllSent):
        return Counter(sent=len(outcomes))
    # Outcomes are counted by type, because a batch has hundreds of outcomes of a few types.
    types = Counter(map(type, outcomes.values()))
    return Counter({_NAMES[one]: number for one, number in types.items()})


def changed_counts(outcomes: Mapping[int, Outcome], *, old: str) -> Counter[str]:
    """Compute how each of `COUNTS` changes when `old` deliveries get these outcomes."""
    change = _count_by_outcome(outcomes)
    # A fast path for a batch whose deliveries were all sent.
    change["missed"] = sum(map(_is_missed, outcomes.values())) if change["failed"] else 0
    change[old] -= len(outcomes)
    return change


def _is_missed(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and not outcome.refused


def count_outcomes(outcomes: Mapping[int, Outcome]) -> None:
    """Count these outcomes in the metrics, once the transaction is committed."""
    delivery_metrics.count_deliveries(_count_by_outcome(outcomes))


def change_outcomes(cursor: CursorWrapper, batch: int, outcomes: Mapping[int, Outcome]) -> None:
    """Write these outcomes of waiting deliveries, and count the outcomes in the batch."""
    write_outcomes(cursor, batch, outcomes, old="waiting")
    count_outcomes(outcomes)
    change = changed_counts(outcomes, old="waiting")
    cursor.execute(
        f"UPDATE batch SET {', '.join(f'{name} = {name} + %s' for name in COUNTS)} "  # noqa: S608
        "WHERE id = %s",
        [*(change[name] for name in COUNTS), batch],
    )


def write_outcomes(
    cursor: CursorWrapper, batch: int, outcomes: Mapping[int, Outcome], *, old: str
) -> None:
    """Write `outcomes` (by recipient) to the `batch`'s deliveries with outcome `old`.

    The database function `settle_batch` writes accepted deliveries. A delivery that becomes unknown
    keeps its provider id and sent time. With every other outcome that this function writes, a
    delivery loses its provider id and sent time. Raises `AssertionError` if a delivery had another
    outcome.
    """
    if not outcomes:
        return
    decided = {
        str(who): (_NAMES[type(outcome)], _stored_reason(outcome), _is_missed(outcome) or None)
        for who, outcome in outcomes.items()
    }
    # Each delivery's row takes its outcome from one JSON object. In a join with the outcomes, a
    # planner without statistics would compare each of 200 deliveries with each of 200 outcomes.
    cursor.execute(
        """
        UPDATE delivery SET
            outcome = by_recipient -> recipient_id::text ->> 0,
            provider_message_id = CASE WHEN by_recipient -> recipient_id::text ->> 0 = 'unknown'
                                       THEN provider_message_id END,
            sent_at = CASE WHEN by_recipient -> recipient_id::text ->> 0 = 'unknown'
                           THEN sent_at END,
            evidence = NULL,
            reason = by_recipient -> recipient_id::text ->> 1,
            missed = (by_recipient -> recipient_id::text ->> 2)::boolean
        FROM (SELECT %s::jsonb) AS decided (by_recipient)
        WHERE batch_id = %s AND outcome = %s AND decided.by_recipient ? recipient_id::text
        """,
        [orjson.dumps(decided).decode(), batch, old],
    )
    if cursor.rowcount != len(outcomes):
        raise AssertionError(
            f"{cursor.rowcount} of {len(outcomes)} deliveries of batch {batch} were {old}"
        )


def _stored_reason(outcome: Outcome) -> str | None:
    if isinstance(outcome, Suppressed | Withdrawn | Failed):
        return outcome.reason.dumps()
    return None

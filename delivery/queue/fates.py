"""Writes what became of deliveries, and says how the counts of their batch change by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, assert_never

import orjson
from django.db.backends.utils import CursorWrapper

from delivery import counting
from delivery.settlement import Failed, Fate, Sent, Suppressed, Unknown, Waiting, Withdrawn

_Row = tuple[str, str | None, datetime | None, str | None]


def _row(fate: Fate) -> _Row:
    """(outcome, provider id, the provider's time, reason)"""
    match fate:
        case Sent(message_id, at):
            return "sent", message_id, at, None
        case Suppressed(reason):
            return "suppressed", None, None, reason
        case Withdrawn(reason):
            return "withdrawn", None, None, reason
        case Failed(reason):
            return "failed", None, None, reason
        case Unknown():
            return "unknown", None, None, None
        case Waiting():
            return "waiting", None, None, None
        case _:
            assert_never(fate)


def counts_changed_by(fates: Mapping[int, Fate], *, was: str) -> Counter[str]:
    """The change of each count of a batch when `fates` befall deliveries that were `was`."""
    change = Counter(_row(fate)[0] for fate in fates.values())
    change[was] -= len(fates)
    change["missed"] = sum(1 for fate in fates.values() if _is_missed(fate))
    return change


def _is_missed(fate: Fate) -> bool:
    """Failed, but not because the address was refused: a person may have it sent again."""
    return isinstance(fate, Failed) and not fate.refused


def write_fates(
    cursor: CursorWrapper,
    batch: int,
    fates: Mapping[int, Fate],
    *,
    was: str,
    evidence: str,
) -> None:
    """
    Write `fates` (by recipient) to the deliveries of `batch`, which all had the outcome `was`.

    A delivery in doubt keeps the marks it has; one that waits again loses them. Raises
    `AssertionError` if a delivery did not have the outcome `was`, so that the transaction around
    it is undone rather than the books broken.
    """
    if not fates:
        return
    # One JSON value and not an array for each column: at thousands of rows a second, writing
    # arrays element by element is what settling would spend its time on.
    rows: list[dict[str, Any]] = [
        {"recipient": recipient, "outcome": row[0], "message_id": row[1], "at": row[2]}
        | ({"reason": row[3]} if row[3] else {})
        | ({"missed": True} if _is_missed(fate) else {})
        for recipient, fate, row in (
            (recipient, fate, _row(fate)) for recipient, fate in fates.items()
        )
    ]
    cursor.execute(
        """
        UPDATE delivery SET
            outcome = fate.outcome,
            provider_message_id = CASE WHEN fate.outcome = 'unknown'
                THEN delivery.provider_message_id ELSE fate.message_id END,
            sent_at = CASE
                WHEN fate.outcome = 'sent' THEN coalesce(fate.at, clock_timestamp())
                WHEN fate.outcome = 'unknown' THEN delivery.sent_at END,
            evidence = CASE WHEN fate.outcome = 'sent' THEN %s END,
            reason = fate.reason,
            missed = fate.missed
        FROM json_to_recordset(%s::json)
             AS fate (recipient bigint, outcome text, message_id text, at timestamptz, reason text,
                      missed boolean)
        WHERE delivery.batch_id = %s AND delivery.outcome = %s
          AND delivery.recipient_id = fate.recipient
        """,
        [evidence, orjson.dumps(rows).decode(), batch, was],
    )
    if cursor.rowcount != len(fates):
        raise AssertionError(
            f"{cursor.rowcount} of {len(fates)} deliveries of batch {batch} were {was}"
        )
    counting.copies(Counter(row["outcome"] for row in rows))

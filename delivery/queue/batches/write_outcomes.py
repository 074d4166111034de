"""Writes what became of deliveries, and says how the counts of their batch change by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import orjson
from django.db.backends.utils import CursorWrapper

from delivery.monitoring import delivery_metrics
from delivery.rules.outcomes import Failed, Fate, Sent, Suppressed, Unknown, Waiting, Withdrawn

# What the deliveries' outcome is after each fate.
_OUTCOMES: Mapping[type[Fate], str] = {
    Sent: "sent",
    Suppressed: "suppressed",
    Withdrawn: "withdrawn",
    Failed: "failed",
    Unknown: "unknown",
    Waiting: "waiting",
}


def _outcomes_of(fates: Mapping[int, Fate]) -> Counter[str]:
    """How many deliveries come to each outcome."""
    # By their types: a batch has hundreds of fates and few kinds.
    kinds = Counter(map(type, fates.values()))
    return Counter({_OUTCOMES[kind]: number for kind, number in kinds.items()})


def counts_changed_by(fates: Mapping[int, Fate], *, was: str) -> Counter[str]:
    """
    The change of each count of a batch when `fates` befall deliveries that were `was`, which is
    `waiting` or `unknown`.
    """
    change = _outcomes_of(fates)
    # Of hundreds that were all sent none is looked at for it.
    change["missed"] = sum(map(_is_missed, fates.values())) if change["failed"] else 0
    change[was] -= len(fates)
    return change


def _is_missed(fate: Fate) -> bool:
    """Failed, but not because the address was refused: a person may have it sent again."""
    return isinstance(fate, Failed) and not fate.refused


def write_outcomes(
    cursor: CursorWrapper,
    batch: int,
    fates: Mapping[int, Fate],
    *,
    was: str,
    evidence: str,
) -> None:
    """
    Write `fates` (by recipient) to the deliveries of `batch`, which all had the outcome `was`.

    A delivery in doubt keeps the marks of having been sent that it has (an id, a time); one that
    waits again loses them. Raises
    `AssertionError` if a delivery did not have the outcome `was`, so that the transaction around
    it is undone rather than the books broken.
    """
    if not fates:
        return
    sent = {who: fate for who, fate in fates.items() if isinstance(fate, Sent)}
    written = _write_sent(cursor, batch, sent, was, evidence) if sent else 0
    if len(sent) < len(fates):
        others = {who: fate for who, fate in fates.items() if who not in sent}
        written += _write_others(cursor, batch, others, was)
    if written != len(fates):
        raise AssertionError(f"{written} of {len(fates)} deliveries of batch {batch} were {was}")
    delivery_metrics.count_deliveries(_outcomes_of(fates))


# Each copy looks up its own fate by its key. Were the fates rows to join with, the planner would
# have to guess how many copies a batch has: of an issue younger than its statistics it guesses one,
# and would compare each of 200 copies with each of 200 fates.
_AS_THE_DECISION_SAW_IT = """
        WHERE batch_id = %s AND outcome = %s AND fate.of ? recipient_id::text"""


def _write_sent(
    cursor: CursorWrapper, batch: int, sent: Mapping[int, Sent], was: str, evidence: str
) -> int:
    """Write the acceptances; how many deliveries that was."""
    facts = {str(who): (fate.message_id, fate.at) for who, fate in sent.items()}
    cursor.execute(
        f"""
        UPDATE delivery SET
            outcome = 'sent',
            provider_message_id = fate.of -> recipient_id::text ->> 0,
            sent_at = coalesce((fate.of -> recipient_id::text ->> 1)::timestamptz,
                               clock_timestamp()),
            evidence = %s,
            reason = NULL,
            missed = NULL
        FROM (SELECT %s::jsonb) AS fate (of)
        {_AS_THE_DECISION_SAW_IT}
        """,  # noqa: S608 -- a constant
        [evidence, orjson.dumps(facts).decode(), batch, was],
    )
    return int(cursor.rowcount)


def _write_others(cursor: CursorWrapper, batch: int, fates: Mapping[int, Fate], was: str) -> int:
    """Write whatever else became of deliveries; how many that was."""
    facts = {
        str(who): (_OUTCOMES[type(fate)], getattr(fate, "reason", None), _is_missed(fate) or None)
        for who, fate in fates.items()
    }
    cursor.execute(
        f"""
        UPDATE delivery SET
            outcome = fate.of -> recipient_id::text ->> 0,
            provider_message_id = CASE WHEN fate.of -> recipient_id::text ->> 0 = 'unknown'
                                       THEN provider_message_id END,
            sent_at = CASE WHEN fate.of -> recipient_id::text ->> 0 = 'unknown' THEN sent_at END,
            evidence = NULL,
            reason = fate.of -> recipient_id::text ->> 1,
            missed = (fate.of -> recipient_id::text ->> 2)::boolean
        FROM (SELECT %s::jsonb) AS fate (of)
        {_AS_THE_DECISION_SAW_IT}
        """,  # noqa: S608 -- a constant
        [orjson.dumps(facts).decode(), batch, was],
    )
    return int(cursor.rowcount)

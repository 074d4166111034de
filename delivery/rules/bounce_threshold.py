"""
Whether the bounces or complaints of an edition exceed a limit, so that it pauses. Pure.

A bought or old list shows itself in its first thousand deliveries; every further one costs the
sender's reputation. Postmark's limits: bounces under 10 %. Gmail and Yahoo: complaints under 0.3 %,
better 0.1 %.
"""

from dataclasses import dataclass

from delivery.rules.reason import Reason, ReasonCode


@dataclass(frozen=True, slots=True)
class Limits:
    """
    A rate counts from so many per cent of the copies, and from so many in number: three bounces
    of the first twenty copies say nothing yet.
    """

    bounces_percent: float
    bounces_least: int
    complaints_percent: float
    complaints_least: int


@dataclass(frozen=True, slots=True)
class Counts:
    """
    Of one edition, since it was last resumed: copies that left, and what came back. `waiting` are
    the copies that a pause would hold back.
    """

    left: int
    bounced: int
    complained: int
    waiting: int


def find_exceeded_rate(counts: Counts, limits: Limits) -> Reason | None:
    """The rate that pauses the edition, or None. Complaints weigh more and come first."""
    if not counts.waiting or not counts.left:
        return None
    for code, count, limit, least in (
        (
            ReasonCode.COMPLAINT_RATE,
            counts.complained,
            limits.complaints_percent,
            limits.complaints_least,
        ),
        (ReasonCode.BOUNCE_RATE, counts.bounced, limits.bounces_percent, limits.bounces_least),
    ):
        percent = 100 * count / counts.left
        if count >= least and percent >= limit:
            return Reason.of(code, count=count, left=counts.left, percent=percent, limit=limit)
    return None

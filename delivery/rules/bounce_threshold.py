"""Whether the bounces or complaints of an edition exceed a limit, so that it pauses. Pure.
Postmark's limit: bounces under 10 %. Gmail's and Yahoo's: complaints under 0.3 %, better 0.1 %."""

from dataclasses import dataclass

from delivery.rules.reason import Reason, ReasonCode


@dataclass(frozen=True, slots=True)
class Limits:
    """A rate counts from a percentage and a number: three bounces of twenty copies say nothing."""

    bounces_percent: float
    bounces_least: int
    complaints_percent: float
    complaints_least: int


@dataclass(frozen=True, slots=True)
class SendsSinceResume:
    """An edition's copies since it was last resumed; a pause would hold back the `waiting`."""

    left: int
    bounced: int
    complained: int
    waiting: int


def find_exceeded_rate(counts: SendsSinceResume, limits: Limits) -> Reason | None:
    """The rate that pauses the edition, or None. Complaints come first."""
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

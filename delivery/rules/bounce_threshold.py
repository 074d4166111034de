"""Whether the bounces or complaints of an edition exceed a limit. Pure.

Postmark's limit: bounces under 10 %. Gmail's and Yahoo's: complaints under 0.3 %, better 0.1 %.
"""

from collections.abc import Mapping
from typing import NamedTuple

from delivery.rules.reason import Reason, ReasonCode


class Limit(NamedTuple):
    """A percentage, and the least number at which it applies, such as three bounces."""

    percent: float
    least: int


def find_exceeded_rate(left: int, rates: Mapping[ReasonCode, tuple[int, Limit]]) -> Reason | None:
    """Find the first rate that reaches its limit, if any.

    `left` copies were sent since the last resume. `rates` are numbers of bounces or complaints, by
    the reason for the pause.
    """
    for code, (count, limit) in rates.items():
        percent = 100 * count / left if left else 0.0
        if left and count >= limit.least and percent >= limit.percent:
            return Reason.of(code, count=count, left=left, percent=percent, limit=limit.percent)
    return None

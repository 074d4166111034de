"""
How fast copies may go: the ceiling, and the slower pace after the provider said “too fast”.

Pure: the database brings the seconds, `queue/send_rate.py` writes down what is decided here. The
numbers and their reasons are in docs/decisions/0009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Slowed down, the pace doubles in this time. At a provider's true limit about one call in as long
# is refused, which costs a round trip and no copy. Much slower, and calls that are refused by
# chance would decide: of every twenty refused one, a pace that doubles in a minute ends at the
# floor, one that doubles in two seconds at some thousands a second.
DOUBLES_IN_S = 2.0

# However often it is halved, the pace is not slowed to less than this part of what was too fast:
# it bounds the way back to six doublings.
SLOWED_TO_A = 64.0

# Nor is it halved below this: the pause after a batch is fixed when it is claimed, and one of many
# seconds would outlast its own reason.
SLOWEST_PER_S = 100.0

# Without a ceiling a slowing is forgotten when the pace has grown to this many times what was too
# fast: the provider has shown by then that it takes more.
FORGOTTEN_AT = 2.0

# After a 429 nobody calls for as long as this, or as long as the provider asked for.
SHORTEST_BREATH_S = 1.0

# More doublings than any pace lives through; a bound, so that the arithmetic cannot overflow.
MOST_DOUBLINGS = 64.0


@dataclass(frozen=True, slots=True)
class Slowing:
    """
    What the last 429 led to. Rates in copies per second over all workers, time in seconds.

    `too_fast_per_s` is the fastest pace that was refused since the workers were last free of any
    slowing, `to_per_s` the pace that the last refusal led to, `for_s` the time since then. It is
    below zero if the database's clock was set back; then nothing has grown yet.
    """

    too_fast_per_s: float
    to_per_s: float
    for_s: float = 0.0


def _grown(slowing: Slowing) -> float:
    return slowing.to_per_s * math.exp2(min(max(slowing.for_s, 0.0) / DOUBLES_IN_S, MOST_DOUBLINGS))


def is_over(slowing: Slowing, ceiling_per_s: float | None) -> bool:
    """Whether a slowing has grown past the ceiling, or well past what was too fast without one."""
    if ceiling_per_s is not None:
        return _grown(slowing) >= ceiling_per_s
    return _grown(slowing) >= FORGOTTEN_AT * slowing.too_fast_per_s


def slowed_to(slowing: Slowing | None, ceiling_per_s: float | None) -> float | None:
    """Copies per second that a slowing leaves at this moment; None if there is none, or no more."""
    if slowing is None or is_over(slowing, ceiling_per_s):
        return None
    return _grown(slowing)


def pace_of(slowing: Slowing | None, ceiling_per_s: float | None) -> float | None:
    """Copies per second that may go at this moment; None if nothing limits them."""
    return slowed_to(slowing, ceiling_per_s) or ceiling_per_s


def after_too_fast(
    slowing: Slowing | None, ceiling_per_s: float | None, *, measured_per_s: float
) -> Slowing:
    """
    What a 429 leads to: half the pace of the moment, but not below the floor.

    `measured_per_s` is what was really accepted lately; it stands for the pace where there is
    neither a ceiling nor a slowing. Right after a start it is nothing, which says nothing.
    """
    slowed = slowed_to(slowing, ceiling_per_s)
    pace = slowed or ceiling_per_s or max(measured_per_s, 2 * SLOWEST_PER_S)
    too_fast = max(pace, slowing.too_fast_per_s) if slowing and slowed else pace
    floor = min(max(SLOWEST_PER_S, too_fast / SLOWED_TO_A), too_fast / 2)
    return Slowing(too_fast_per_s=too_fast, to_per_s=max(pace / 2, floor))


def quiet_s(retry_after_s: float | None) -> float:
    """Seconds after a 429 in which nobody calls."""
    return max(SHORTEST_BREATH_S, retry_after_s or 0.0)

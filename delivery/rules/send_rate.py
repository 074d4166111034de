"""The send rate: the ceiling and the rate after a 429 (docs/decisions/0009)."""

import math
from dataclasses import dataclass

# A reduced rate doubles in this time. At the provider's true limit, about one call is refused in
# each span of this length. If this time were much longer, calls that are refused by chance would
# decide the rate. If one call in 20 is refused, a rate that doubles in a minute falls to its lowest
# value. A rate that doubles in two seconds settles at some thousands per second.
DOUBLES_IN_S = 2.0

# A reduced rate is at least the refused rate divided by this number. Six doublings restore the
# refused rate.
SLOWED_TO_A = 64.0

# The rate is never halved below this. The pause after a batch is fixed at the batch's claim, so at
# a lower rate the pause would stay too long when the rate grows again.
SLOWEST_PER_S = 100.0

# Without a ceiling, a slowdown ends when the rate reaches the refused rate times this factor.
FORGOTTEN_AT = 2.0

# After a 429, no worker makes a call for this time, or for the time that the provider asked for.
SHORTEST_BREATH_S = 1.0

# The maximum number of doublings, so that the arithmetic cannot overflow.
MOST_DOUBLINGS = 64.0


@dataclass(frozen=True, slots=True)
class Slowdown:
    """The reduced rate after the last 429, in copies per second over all workers.

    `too_fast_per_s` is the fastest refused rate since the last slowdown ended. `to_per_s` is the
    rate after the last refusal. `for_s` is the number of seconds since that refusal; it is negative
    after a clock change.
    """

    too_fast_per_s: float
    to_per_s: float
    for_s: float = 0.0


def _grown(slowdown: Slowdown) -> float:
    return slowdown.to_per_s * math.exp2(
        min(max(slowdown.for_s, 0.0) / DOUBLES_IN_S, MOST_DOUBLINGS)
    )


def has_ended(slowdown: Slowdown, ceiling_per_s: float | None) -> bool:
    """Whether the rate has grown past the ceiling, or well past the refused rate."""
    if ceiling_per_s is not None:
        return _grown(slowdown) >= ceiling_per_s
    return _grown(slowdown) >= FORGOTTEN_AT * slowdown.too_fast_per_s


def slowed_to(slowdown: Slowdown | None, ceiling_per_s: float | None) -> float | None:
    """Compute the copies per second under a slowdown; None without a slowdown."""
    if slowdown is None or has_ended(slowdown, ceiling_per_s):
        return None
    return _grown(slowdown)


def rate_of(slowdown: Slowdown | None, ceiling_per_s: float | None) -> float | None:
    """Compute the copies per second that may be sent now; None without a limit."""
    return slowed_to(slowdown, ceiling_per_s) or ceiling_per_s


def after_too_fast(
    slowdown: Slowdown | None, ceiling_per_s: float | None, *, measured_per_s: float
) -> Slowdown:
    """Compute the slowdown after a 429: half the current rate, but at least the floor.

    Without a ceiling and a slowdown, the current rate is `measured_per_s`, the recently accepted
    rate.
    """
    slowed = slowed_to(slowdown, ceiling_per_s)
    rate = slowed or ceiling_per_s or max(measured_per_s, 2 * SLOWEST_PER_S)
    too_fast = max(rate, slowdown.too_fast_per_s) if slowdown and slowed else rate
    floor = min(max(SLOWEST_PER_S, too_fast / SLOWED_TO_A), too_fast / 2)
    return Slowdown(too_fast_per_s=too_fast, to_per_s=max(rate / 2, floor))


def quiet_s(retry_after_s: float | None) -> float:
    """Compute the seconds after a 429 in which no worker calls."""
    return max(SHORTEST_BREATH_S, retry_after_s or 0.0)

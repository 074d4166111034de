"""How fast copies may go: the ceiling and the rate after a 429 (docs/decisions/0009). Pure."""

import math
from dataclasses import dataclass

# The time in which a slowed rate doubles. At a provider's true limit about one call in as long is
# refused. Much slower, and calls refused by chance would decide: with one of twenty refused, a rate
# that doubles in a minute ends at the floor, in two seconds at some thousands a second.
DOUBLES_IN_S = 2.0

# The rate is not slowed to less than this part of what was too fast: six doublings back.
SLOWED_TO_A = 64.0

# Nor is it halved below this: the pause after a batch is fixed when it is claimed.
SLOWEST_PER_S = 100.0

# Without a ceiling a slowdown ends at this many times what was too fast.
FORGOTTEN_AT = 2.0

# After a 429 nobody calls for as long as this, or as long as the provider asked for.
SHORTEST_BREATH_S = 1.0

# More doublings than any rate lives through; a bound, so that the arithmetic cannot overflow.
MOST_DOUBLINGS = 64.0


@dataclass(frozen=True, slots=True)
class Slowdown:
    """What the last 429 led to. Rates in copies per second over all workers, time in seconds.

    `too_fast_per_s` is the fastest refused rate since the last slowdown ended, `to_per_s` the rate
    that the last refusal led to, `for_s` the time since then, negative after a clock change."""

    too_fast_per_s: float
    to_per_s: float
    for_s: float = 0.0


def _grown(slowdown: Slowdown) -> float:
    return slowdown.to_per_s * math.exp2(
        min(max(slowdown.for_s, 0.0) / DOUBLES_IN_S, MOST_DOUBLINGS)
    )


def has_ended(slowdown: Slowdown, ceiling_per_s: float | None) -> bool:
    """Whether a slowdown has grown past the ceiling, or else well past what was too fast."""
    if ceiling_per_s is not None:
        return _grown(slowdown) >= ceiling_per_s
    return _grown(slowdown) >= FORGOTTEN_AT * slowdown.too_fast_per_s


def slowed_to(slowdown: Slowdown | None, ceiling_per_s: float | None) -> float | None:
    """Copies per second that a slowdown leaves now; None if there is none, or it has ended."""
    if slowdown is None or has_ended(slowdown, ceiling_per_s):
        return None
    return _grown(slowdown)


def rate_of(slowdown: Slowdown | None, ceiling_per_s: float | None) -> float | None:
    """Copies per second that may go now; None if nothing limits them."""
    return slowed_to(slowdown, ceiling_per_s) or ceiling_per_s


def after_too_fast(
    slowdown: Slowdown | None, ceiling_per_s: float | None, *, measured_per_s: float
) -> Slowdown:
    """What a 429 leads to: half the rate of the moment, but not below the floor. `measured_per_s`,
    what was accepted lately, counts if there is neither a ceiling nor a slowdown."""
    slowed = slowed_to(slowdown, ceiling_per_s)
    rate = slowed or ceiling_per_s or max(measured_per_s, 2 * SLOWEST_PER_S)
    too_fast = max(rate, slowdown.too_fast_per_s) if slowdown and slowed else rate
    floor = min(max(SLOWEST_PER_S, too_fast / SLOWED_TO_A), too_fast / 2)
    return Slowdown(too_fast_per_s=too_fast, to_per_s=max(rate / 2, floor))


def quiet_s(retry_after_s: float | None) -> float:
    """Seconds after a 429 in which nobody calls."""
    return max(SHORTEST_BREATH_S, retry_after_s or 0.0)

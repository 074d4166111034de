"""How often an address and a network may ask for mail. Pure. A form that came back too fast is not
refused, because browsers fill forms in; it has fewer tries."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

HOUR_S = 3600
DAY_S = 24 * HOUR_S
SUSPICIOUS_PER_HOUR = 3


@dataclass(frozen=True, slots=True)
class PastRequest:
    """One request of a network: how long ago, and whether it came back too fast."""

    seconds_ago: float
    suspicious: bool = False


def seconds_to_wait(asked: Sequence[PastRequest], suspicious: bool, per_hour: int) -> int:
    """How long a network must wait, at most an hour; 0 if it may ask now. `asked` are its requests
    of the last hour, the latest first."""
    every = [one.seconds_ago for one in asked]
    wait = _until_fewer_than(per_hour, every)
    if suspicious:
        fast = [one.seconds_ago for one in asked if one.suspicious]
        wait = max(wait, _until_fewer_than(min(SUSPICIOUS_PER_HOUR, per_hour), fast))
    return wait


def is_suspicious(seconds_filling_in: float | None, least_s: float) -> bool:
    """Whether the form came back faster than a person types; None says nothing, as scripts do."""
    return seconds_filling_in is not None and seconds_filling_in < least_s


def _until_fewer_than(limit: int, seconds_ago: Sequence[float]) -> int:
    if len(seconds_ago) < limit:
        return 0
    return min(HOUR_S, max(1, ceil(HOUR_S - sorted(seconds_ago)[limit - 1])))

"""The rate after a 429, for any ceiling, moment and number of refusals."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.send_rate import (
    SLOWED_TO_A,
    SLOWEST_PER_S,
    Slowdown,
    after_too_fast,
    quiet_s,
    rate_of,
    slowed_to,
)

ceilings = st.none() | st.floats(0.000_001, 1e8)
measurements = st.floats(0, 1e6)
# Histories of refusals, as the seconds between each refusal and the next.
histories = st.lists(st.floats(0, 300), max_size=12)


def refused(ceiling: float | None, measured: float, waits: list[float]) -> Slowdown:
    """Return the slowdown after a first refusal and one more refusal after each wait."""
    slowdown = after_too_fast(None, ceiling, measured_per_s=measured)
    for wait in waits:
        slowdown = after_too_fast(replace(slowdown, for_s=wait), ceiling, measured_per_s=measured)
    return slowdown


def limit(pace: float | None) -> float:
    return math.inf if pace is None else pace


@pytest.mark.parametrize(
    ("ceiling", "measured", "waits", "to"),
    [
        # Each refusal halves the rate. A second refusal that follows at once halves the rate again.
        (1_000, 0, [], 500),
        (1_000, 0, [0], 250),
        # After 2 s the rate has doubled to its former value, and the second refusal halves it
        # again.
        (1_000, 0, [2], 500),
        (1_000, 0, [1], 500 * 2**0.5 / 2),
        # Without a ceiling the measured rate is halved.
        (None, 2_000, [], 1_000),
        # After 4 s the rate has doubled twice, so the slowdown has ended and the measured rate
        # counts.
        (None, 2_000, [4], 1_000),
        # A low measured rate is not reduced below the minimum.
        (None, 0, [], 100),
        (300, 0, [0, 0, 0], 100),
        (64_000, 0, [0] * 20, 1_000),
        (None, 64_000, [0] * 20, 1_000),
        # A ceiling below the minimum is halved once.
        (1, 0, [], 0.5),
    ],
)
def test_refusal_halves_the_current_rate_to_a_floor(
    ceiling: float | None, measured: float, waits: list[float], to: float
) -> None:
    assert refused(ceiling, measured, waits).to_per_s == pytest.approx(to)


@pytest.mark.parametrize(
    ("for_s", "pace"), [(-3_600, 100), (0, 100), (2, 200), (3.9, 386.4), (4, None), (1e9, None)]
)
def test_rate_doubles_until_the_slowdown_ends(for_s: float, pace: float | None) -> None:
    assert limit(rate_of(Slowdown(200, 100, for_s), None)) == pytest.approx(limit(pace), rel=0.001)


@pytest.mark.parametrize(("for_s", "pace"), [(0, 100), (2, 200), (3, 250), (1e9, 250)])
def test_slowdown_ends_at_the_ceiling(for_s: float, pace: float) -> None:
    assert rate_of(Slowdown(250, 100, for_s), 250) == pytest.approx(pace)
    # A worker with a lower ceiling keeps its own ceiling.
    assert rate_of(Slowdown(250, 100, for_s), 5) == 5


def test_without_a_refusal_only_the_ceiling_limits() -> None:
    assert rate_of(None, 250) == 250
    assert rate_of(None, None) is None
    assert slowed_to(None, 250) is None


@given(ceilings, measurements, histories)
def test_the_rate_never_falls_below_the_floor(
    ceiling: float | None, measured: float, waits: list[float]
) -> None:
    slowdown = refused(ceiling, measured, waits)
    assert slowdown.to_per_s >= min(SLOWEST_PER_S, slowdown.too_fast_per_s / 2)
    assert slowdown.to_per_s >= slowdown.too_fast_per_s / SLOWED_TO_A


def test_refusal_stops_calls_for_the_requested_time() -> None:
    assert [quiet_s(None), quiet_s(0.0), quiet_s(30.0)] == [1.0, 1.0, 30.0]

"""How many bounces or complaints are too many to go on with."""

from __future__ import annotations

import pytest

from delivery.surge import Counts, Limits, surge_in

LIMITS = Limits(bounces_percent=4, bounces_least=10, complaints_percent=0.1, complaints_least=3)


@pytest.mark.parametrize(
    ("left", "bounced", "complained", "what"),
    [
        (250, 10, 0, "bounces"),
        (251, 10, 0, None),
        (20, 9, 0, None),
        (20, 10, 0, "bounces"),
        (1000, 39, 0, None),
        (1000, 40, 0, "bounces"),
        (3000, 0, 3, "complaints"),
        (3001, 0, 3, None),
        (3, 0, 2, None),
        (100, 50, 50, "complaints"),
        (0, 50, 50, None),
    ],
)
def test_both_the_rate_and_the_number_must_be_reached(
    left: int, bounced: int, complained: int, what: str | None
) -> None:
    surge = surge_in(Counts(left, bounced, complained, waiting=1), LIMITS)
    assert (surge.what if surge else None) == what


def test_where_nothing_waits_there_is_nothing_to_pause() -> None:
    assert surge_in(Counts(1000, 500, 500, waiting=0), LIMITS) is None


def test_the_sentence_says_the_numbers_and_the_limit() -> None:
    surge = surge_in(Counts(1250, 60, 0, waiting=9), LIMITS)
    assert surge is not None
    assert surge.sentence == (
        "Homing paused this by itself: 60 of 1,250 copies were sent back (4.8 %; the limit is "
        "4 %). Look at where these readers came from, then resume or cancel."
    )

"""What becomes of a batch whose worker was lost before its call."""

from __future__ import annotations

import pytest

from delivery.retries import AfterCrash, after_crash


@pytest.mark.parametrize(
    ("crashes", "waiting", "then"),
    [
        (1, 1, AfterCrash.READY),
        (1, 500, AfterCrash.READY),
        (2, 500, AfterCrash.HALVE),
        (2, 2, AfterCrash.HALVE),
        (2, 1, AfterCrash.PARK),
        (3, 1, AfterCrash.PARK),
        (3, 2, AfterCrash.HALVE),
    ],
)
def test_the_second_lost_worker_halves_the_batch_or_parks_the_copy(
    crashes: int, waiting: int, then: AfterCrash
) -> None:
    assert after_crash(crashes, waiting) is then

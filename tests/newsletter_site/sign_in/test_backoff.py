"""How long somebody waits who failed to sign in: a few free tries, then waits that double."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from newsletter_site.sign_in.backoff import Failures, Patience, wait_left_s

MINUTE = 60.0
DAY = 86_400.0
USUAL = Patience(free=5, first_wait_s=MINUTE, forgotten_after_s=DAY)


def test_a_few_failures_are_free_and_each_further_one_doubles_the_wait() -> None:
    waits = {0: 0, 1: 0, 4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16, 10: 16, 2_000_000: 16}
    for number, minutes in waits.items():
        assert wait_left_s(Failures(number, 0), USUAL) == minutes * MINUTE
    assert wait_left_s(Failures(5, 59), USUAL) == 1
    assert wait_left_s(Failures(5, 60), USUAL) == 0


def test_after_a_day_without_a_failure_all_of_them_are_forgotten() -> None:
    assert wait_left_s(Failures(4000, DAY), replace(USUAL, first_wait_s=DAY)) == 0


@given(st.integers(0, 10**6), st.floats(-DAY, DAY * 3))
def test_nobody_ever_waits_longer_than_the_longest_wait(number: int, last_s_ago: float) -> None:
    assert 0 <= wait_left_s(Failures(number, last_s_ago), USUAL) <= 16 * MINUTE


def test_who_guesses_as_fast_as_they_may_has_less_than_a_hundred_guesses_a_day() -> None:
    clock, last, number, guesses = 0.0, -DAY, 0, 0
    while clock < DAY:
        failures = Failures(number, clock - last)
        wait = wait_left_s(failures, USUAL)
        clock += wait
        number, last, guesses = number + 1, clock, guesses + 1
    assert guesses < 100

"""The sentence at the head of the desk."""

from __future__ import annotations

import re

import pytest

from publishing.how_things_stand import Standing, sentence_of

NEXT = {"next_title": "Notes from a wet orchard", "next_when": "Thu 24 Sep 2026, 07:00 UTC"}


@pytest.mark.parametrize(
    ("standing", "numbers"),
    [
        (Standing(), "^No issue"),
        (Standing(drafts=1), "One draft"),
        (Standing(issues=4, drafts=12), "Nothing .* 12 drafts"),
        (Standing(needs=3, going=["Swifts"], issues=4), "^Three .*“Swifts”"),
        (Standing(going=["Swifts", "Herons"], issues=4), "^Two "),
        (Standing(held=["Herons"], going=["Swifts"], issues=4), "“Herons” is held .*Another"),
        (Standing(scheduled=1, issues=4, **NEXT), "“Notes from a wet orchard” .* 24 Sep 2026"),
        (Standing(scheduled=2, going=["Swifts"], issues=4, **NEXT), "“Swifts” .*Two .*, 07:00"),
        (Standing(sees_issues=False, needs=11), "^11 "),
    ],
)
def test_it_says_what_needs_a_person_first_and_what_comes_next(
    standing: Standing, numbers: str
) -> None:
    assert re.search(numbers, sentence_of(standing))

"""The sentence at the head of the desk."""

from __future__ import annotations

import pytest

from publishing.how_things_stand import Standing, sentence_of

NEXT = {"next_title": "Notes from a wet orchard", "next_when": "Thu 24 Sep 2026, 07:00 UTC"}


@pytest.mark.parametrize(
    ("standing", "sentence"),
    [
        (Standing(), "No issue yet."),
        (Standing(drafts=1), "No issue was published yet. One draft is open."),
        (Standing(issues=4), "Nothing asks for you, and nothing is going out."),
        (
            Standing(issues=4, drafts=12),
            "Nothing asks for you, and nothing is going out. 12 drafts are open.",
        ),
        (Standing(needs=1, issues=4), "One thing asks for you."),
        (
            Standing(needs=3, going=["Swifts"], issues=4),
            "Three things ask for you. “Swifts” is going out and needs nothing from you.",
        ),
        (
            Standing(going=["Swifts", "Herons"], issues=4),
            "Two issues are going out and need nothing from you.",
        ),
        (
            Standing(held=["Herons"], going=["Swifts"], issues=4),
            (
                "“Herons” is held and can still be called back. "
                "Another is going out and needs nothing from you."
            ),
        ),
        (
            Standing(scheduled=1, issues=4, **NEXT),
            "Nothing asks for you. “Notes from a wet orchard” goes out Thu 24 Sep 2026, 07:00 UTC.",
        ),
        (
            Standing(scheduled=2, going=["Swifts"], issues=4, **NEXT),
            (
                "“Swifts” is going out and needs nothing from you. "
                "Two issues are scheduled; the next, “Notes from a wet orchard”, goes out "
                "Thu 24 Sep 2026, 07:00 UTC."
            ),
        ),
        (Standing(sees_issues=False), "Nothing asks for you."),
        (Standing(sees_issues=False, needs=11), "11 things ask for you."),
    ],
)
def test_it_says_what_needs_a_person_first_and_what_comes_next(
    standing: Standing, sentence: str
) -> None:
    assert sentence_of(standing) == sentence

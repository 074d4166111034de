"""The two pure decisions of the pages: how wide a bar's parts are, and where two letters differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publishing.bar import NARROWEST, ORDER, parts_of
from publishing.content import Content
from publishing.what_differs import compare

a_count = st.integers(0, 2_000_000)
counts_of_an_edition = st.tuples(*[a_count] * 6).map(lambda n: dict(zip(ORDER, n, strict=True)))


@given(counts_of_an_edition)
def test_a_bar_is_full_its_parts_join_and_none_of_them_is_too_narrow_to_see(counts):
    parts = parts_of(counts)

    assert [part.outcome for part in parts] == list(ORDER)
    x = 0.0
    for part in parts:
        width = float(part.width.rstrip("%"))
        assert float(part.x.rstrip("%")) == pytest.approx(x, abs=0.05)
        assert width >= NARROWEST - 0.01 if counts[part.outcome] else width == 0
        x += width
    assert x == pytest.approx(100 if any(counts.values()) else 0, abs=0.05)


def test_where_two_letters_differ_is_shown_with_the_words_around_it():
    earlier = Content("Swifts", "", "They came in May, nine of them and then forty, screaming.")
    now = Content("Swifts", "", "They came in May, nine of them and then fourteen, screaming.")

    title, html, text = compare(earlier, now)

    assert title.earlier is html.earlier is None
    assert text.earlier.before.endswith("of them and then ")
    assert (text.earlier.own, text.now.own) == ("forty", "fourteen")
    assert text.earlier.after.startswith(", screaming.")


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_three_parts_of_a_short_difference_are_the_two_letters(one, other):
    (line,) = [
        c for c in compare(Content("", "", one), Content("", "", other)) if c.field == "Text"
    ]

    if one == other:
        assert line.earlier is line.now is None
    else:
        assert line.earlier.before == line.now.before
        assert line.earlier.own != line.now.own
        assert line.earlier.length == len(one)
        assert line.earlier.before.removeprefix("…") + line.earlier.own in one
        assert line.now.before.removeprefix("…") + line.now.own in other

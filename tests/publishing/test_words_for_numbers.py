"""How a sentence says how many, and how long."""

from __future__ import annotations

import pytest

from publishing.words_for_numbers import (
    counted,
    counted_copies,
    counted_readers,
    enumerated,
    ordinal,
    so_many,
    span_of,
)


def test_within_a_sentence_it_is_figures() -> None:
    assert [counted_readers(number) for number in (0, 1, 2, 52_418)] == [
        "0 readers", "1 reader", "2 readers", "52,418 readers",
    ]  # fmt: skip
    assert [counted_copies(number) for number in (1, 3_000)] == ["1 copy", "3,000 copies"]
    assert [counted(number, "breach", "breaches") for number in (1, 2)] == [
        "1 breach",
        "2 breaches",
    ]


def test_at_its_head_what_is_few_is_a_word() -> None:
    assert [so_many(number, "link") for number in (0, 1, 9, 10)] == [
        "No links", "One link", "Nine links", "10 links",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1, "1 second"),
        (89, "89 seconds"),
        (90, "2 minutes"),
        (40 * 60, "40 minutes"),
        (90 * 60, "2 hours"),
        (5 * 3600, "5 hours"),
    ],
)
def test_a_span_is_said_in_the_unit_that_people_would_take(seconds: int, said: str) -> None:
    assert span_of(seconds) == said


def test_places_and_things_in_a_row() -> None:
    assert [ordinal(number) for number in (1, 10, 11, 22)] == ["first", "tenth", "11th", "22nd"]
    assert [enumerated(things) for things in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a", "a and b", "a, b and c",
    ]  # fmt: skip

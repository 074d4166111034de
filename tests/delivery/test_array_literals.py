"""An array that we write is the array that PostgreSQL reads, whatever its values hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from delivery import array_literal

pytestmark = pytest.mark.django_db


def read_as(kind: str, literal: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT %s::{kind}[]", [literal])
        return list(cursor.fetchone()[0])


@pytest.mark.parametrize("numbers", [[], [0], [1, -2, 2**63 - 1]])
def test_numbers(numbers: list[int]) -> None:
    assert read_as("bigint", array_literal.of_numbers(numbers)) == numbers


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""],
        ["", ""],
        ["NULL", "null"],
        ["a,b", "{c}", " d ", "'", '"', "\\", '\\"', "\\\\", '{"a"}', "two\nlines"],
        ["Åland", "\U0001f426"],
    ],
)
def test_texts(texts: list[str]) -> None:
    assert read_as("text", array_literal.of_texts(texts)) == texts


# What PostgreSQL cannot hold in any text.
_WRITABLE = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(st.lists(_WRITABLE))
def test_any_texts(texts: list[str]) -> None:
    assert read_as("text", array_literal.of_texts(texts)) == texts


def test_times_keep_their_moment_and_may_be_missing() -> None:
    times = [
        datetime(2026, 5, 4, 14, 15, 22, 987654, UTC),
        None,
        datetime(2026, 5, 4, tzinfo=timezone(timedelta(hours=-5, minutes=-30))),
    ]
    assert read_as("timestamptz", array_literal.of_times(times)) == times

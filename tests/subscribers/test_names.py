"""Which texts may stand as a reader's name."""

from __future__ import annotations

import pytest

from subscribers.address import Refusal
from subscribers.name import read_name


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("", ""),
        ("  Ada   Whitlock ", "Ada Whitlock"),
        ("Ada\r\nWhitlock", "Ada Whitlock"),
        ("Ada\tWhitlock", "Ada Whitlock"),
        ("O'Neill, Nóra “Nan” 王小燕 🐦", "O'Neill, Nóra “Nan” 王小燕 🐦"),
        ("x" * 256, "x" * 256),
    ],
)
def test_a_name_is_kept_as_written_in_one_line(typed: str, kept: str) -> None:
    assert read_name(typed) == kept


@pytest.mark.parametrize("control", ["\x00", "\x01", "\x07", "\x1b", "\x7f", "\x9b"])
def test_a_name_with_control_characters_is_refused(control: str) -> None:
    assert read_name(f"Ada{control}Whitlock") == Refusal("The name contains control characters.")


def test_a_name_of_more_than_256_characters_is_refused() -> None:
    assert read_name("x" * 257) == Refusal("The name has 257 characters; at most 256 are allowed.")

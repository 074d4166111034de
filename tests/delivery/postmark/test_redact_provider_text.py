"""Texts of the provider are shortened to one line without addresses."""

import pytest

from delivery.redact_addresses import MAX_READ, read_text


def test_a_cut_text_keeps_no_part_of_an_address() -> None:
    addresses = "a@example.net " * (MAX_READ // 14)
    text = addresses.ljust(MAX_READ - 4, "\t") + "ada.lovelace@example.org"
    read = read_text(text, MAX_READ)
    assert read.startswith("… …")
    assert "ada" not in read


@pytest.mark.parametrize(
    ("longest", "cut_mark", "read"),
    [(9, "…", "no … here"), (8, "…", "no … he…"), (8, "", "no … her")],
)
def test_a_long_text_is_cut_after_addresses_are_redacted(
    longest: int, cut_mark: str, read: str
) -> None:
    assert read_text("no\r\nada@example.org\x00 here", longest, cut_mark=cut_mark) == read

"""The tokens of the links by which people confirm, and by which they see their record."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as property_settings
from hypothesis import strategies as st

from subscribers import unsubscribe_token
from subscribers.request_token import Request, read, token_for

READERS = st.integers(min_value=1, max_value=2**63 - 1)
COUNTS = st.integers(min_value=0, max_value=2**31 - 1)


@property_settings(deadline=None)
@given(READERS, COUNTS)
def test_a_token_names_the_reader_and_which_of_their_requests_it_was(reader: int, n: int) -> None:
    token = token_for("confirmation", Request(reader, n))

    assert read("confirmation", token) == Request(reader, n)
    assert len(token) == 32
    assert not set(token) & set("/?#%&+ =")


def test_no_token_does_what_another_was_made_for() -> None:
    token = token_for("confirmation", Request(7, 1))

    assert read("record", token) is None
    assert unsubscribe_token.read(token) is None
    assert read("confirmation", unsubscribe_token.token_for(7)) is None


@pytest.mark.parametrize("position", range(32))
def test_a_token_with_any_character_changed_is_none_of_ours(position: int) -> None:
    token = token_for("confirmation", Request(7, 1))
    other = "A" if token[position] != "A" else "B"

    assert read("confirmation", token[:position] + other + token[position + 1 :]) is None


@pytest.mark.parametrize("token", ["", "x", "A" * 32, "é" * 32, "=" * 32, "x" * 5000])
def test_what_we_never_gave_out_is_none_of_ours(token: str) -> None:
    assert read("confirmation", token) is None


def test_links_in_letters_that_went_out_before_go_on_working() -> None:
    # Made with the key of these tests by the first version of this code.
    assert unsubscribe_token.read("phg_tdpNBpJWpLSQ84GegZj5s6Ce") == 7

"""The tokens of the links by which people confirm, and by which they see their record."""

from __future__ import annotations

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


def test_a_token_with_any_character_changed_is_none_of_ours() -> None:
    token = token_for("confirmation", Request(7, 1))
    for place, sign in enumerate(token):
        other = "A" if sign != "A" else "B"
        assert read("confirmation", token[:place] + other + token[place + 1 :]) is None
    for made_up in ("", "x", "A" * 32, "é" * 32, "=" * 32, "x" * 5000):
        assert read("confirmation", made_up) is None


def test_links_in_letters_that_went_out_before_go_on_working() -> None:
    # Made with the key of these tests by the first version of this code.
    assert unsubscribe_token.read("phg_tdpNBpJWpLSQ84GegZj5s6Ce") == 7

"""The tokens of links: to unsubscribe, to confirm, and to see personal data."""

from base64 import urlsafe_b64decode

import pytest
from django.conf import LazySettings
from hypothesis import given
from hypothesis import strategies as st

from subscribers.links import request_token, unsubscribe_token
from subscribers.links.request_token import Request
from subscribers.links.unsubscribe_token import read, token_for, tokens_for

LARGEST_ID = 2**63 - 1  # of a bigint


@given(st.integers(min_value=1, max_value=LARGEST_ID))
def test_a_token_identifies_its_reader_and_fits_a_header(subscriber_id: int) -> None:
    token = token_for(subscriber_id)
    assert read(token) == subscriber_id
    assert token == token_for(subscriber_id)
    assert len(token) == 28
    assert token.isascii()
    assert not set(token) & set("/?#%&+ ")


def test_a_token_reveals_nothing() -> None:
    # Tokens of adjacent readers share no more characters than random tokens do. No part of the
    # decoded token grows with the reader's id.
    decoded = [urlsafe_b64decode(token_for(number)) for number in range(1, 400)]
    for place in range(len(decoded[0])):
        assert len({token[place] for token in decoded}) > 150


def test_tokens_of_sent_mails_stay_valid(settings: LazySettings) -> None:
    settings.SECRET_KEY = "a key for this test"
    assert tokens_for([1, 2, LARGEST_ID]) == [
        "Sri910le_-otFacqgZjvhBdFYLuD",
        "Ip3W0bW7qZuibDuYQRCL4EP8oubM",
        "VJC4ZAaw4sAmGjm9VWRKhQzqPVc-",
    ]


def test_a_token_needs_its_secret_key(settings: LazySettings) -> None:
    token = token_for(7)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "the key after that one"
    assert read(token) == 7
    assert token_for(7) != token
    settings.SECRET_KEY_FALLBACKS = []
    assert read(token) is None


READERS = st.integers(min_value=1, max_value=2**63 - 1)
COUNTS = st.integers(min_value=0, max_value=2**31 - 1)


@given(READERS, COUNTS)
def test_a_token_identifies_reader_and_request(reader: int, n: int) -> None:
    token = request_token.token_for("confirmation", Request(reader, n))
    assert request_token.read("confirmation", token) == Request(reader, n)
    assert len(token) == 32
    assert not set(token) & set("/?#%&+ =")


def test_a_token_works_only_for_its_purpose() -> None:
    token = request_token.token_for("confirmation", Request(7, 1))
    assert request_token.read("record", token) is None
    assert unsubscribe_token.read(token) is None
    assert request_token.read("confirmation", unsubscribe_token.token_for(7)) is None


@pytest.mark.parametrize("kind", ["unsubscribe", "confirmation"])
def test_a_token_with_a_changed_character_is_unknown(kind: str) -> None:
    def read_one(token: str) -> object:
        return read(token) if kind == "unsubscribe" else request_token.read(kind, token)

    request = request_token.token_for("confirmation", Request(7, 1))
    good = token_for(123_456_789) if kind == "unsubscribe" else request
    assert read_one(good)
    for place, sign in enumerate(good):
        other = "A" if sign != "A" else "B"
        assert read_one(good[:place] + other + good[place + 1 :]) is None
    signs = [sign * len(good) for sign in "A=é"]
    for made_up in ("", ".", "x", *signs, "x" * 5000, good[:-1], good[1:], good.swapcase()):
        assert read_one(made_up) is None


@given(st.integers(min_value=1, max_value=LARGEST_ID), st.integers(min_value=1, max_value=27))
def test_characters_stuck_to_a_token_are_ignored(reader: int, place: int) -> None:
    token = token_for(reader)
    broken = f"{token[:place]}=\r\n{token[place:]}"
    stuck = (
        *("{})", "{}/)", "{}/>", "{}//", "{}>", "{},", "{}=", "{}.", "<{}", "{}=3D", "3D{}", "{}-"),
        *("{} ", " {}", "{}&gt;", "&lt;{}", "{}%3E", "“{}”", "{}\u200b", "_{}", "({})", broken),
    )
    for written in stuck:
        assert read(written.format(token)) == reader, written
    assert read(f"{'é' * 200}{token}") is None  # too long to be a link of ours

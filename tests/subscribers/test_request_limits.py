"""Limits of requests for mail, and a visitor's network."""

import pytest
from django.conf import LazySettings
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from subscribers.client_network import network_of
from subscribers.request_limits import (
    HOUR_S,
    SUSPICIOUS_PER_HOUR,
    seconds_to_wait,
)


def asked(*seconds_ago: float, suspicious: bool = False) -> list[tuple[float, bool]]:
    return [(ago, suspicious) for ago in seconds_ago]


def test_a_network_cannot_exceed_its_hourly_limit() -> None:
    assert seconds_to_wait(asked(*range(9)), False, per_hour=10) == 0
    assert seconds_to_wait(asked(*range(10)), False, per_hour=10) > 0


def test_the_wait_ends_an_hour_after_the_oldest_request() -> None:
    assert seconds_to_wait(asked(5, 100, 600.5), False, per_hour=3) == HOUR_S - 600


def test_fast_forms_have_fewer_attempts() -> None:
    fast = asked(*[1.0] * SUSPICIOUS_PER_HOUR, suspicious=True)
    assert seconds_to_wait(fast[1:], True, per_hour=10) == 0
    assert seconds_to_wait(fast, True, per_hour=10) > 0
    # The limit for fast forms does not stop slow forms, and slow forms do not count for this limit.
    assert seconds_to_wait(fast, False, per_hour=10) == 0
    assert seconds_to_wait(asked(1, 2, 3), True, per_hour=10) == 0


@given(
    st.lists(st.floats(min_value=-1e6, max_value=HOUR_S), max_size=30),
    st.booleans(),
    st.integers(min_value=1, max_value=20),
)
def test_a_wait_is_at_most_an_hour(
    seconds_ago: list[float], suspicious: bool, per_hour: int
) -> None:
    assert 0 <= seconds_to_wait(asked(*seconds_ago), suspicious, per_hour) <= HOUR_S


@pytest.mark.parametrize(
    ("header", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1:2::7", "2001:db8:1::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        # Some proxies add the port, and brackets around IPv6 addresses.
        ("203.0.113.77:50123", "203.0.113.0/24"),
        ("[2001:db8:1:2::7]:50123", "2001:db8:1::/48"),
        ("[2001:db8:1:2::7]", "2001:db8:1::/48"),
        ("198.51.100.7, 203.0.113.77", "203.0.113.0/24"),
        ("unknown", ""),
        ("unix:", ""),
        ("_hidden:443", ""),
    ],
)
def test_behind_a_proxy_the_network_is_the_proxys_entry(
    settings: LazySettings, header: str, network: str
) -> None:
    settings.TRUST_PROXY = True
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR=header, REMOTE_ADDR="192.0.2.1")
    assert network_of(request) == network


@pytest.mark.parametrize(("header", "network"), [("192.0.2.1", "192.0.2.0/24"), ("", "")])
def test_without_a_proxy_the_network_comes_from_the_connection(header: str, network: str) -> None:
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR="203.0.113.7", REMOTE_ADDR=header)
    assert network_of(request) == network

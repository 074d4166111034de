"""A visitor's network is read from their connection, or from the word of a trusted proxy."""

from __future__ import annotations

import pytest
from django.conf import LazySettings
from django.test import RequestFactory

from subscribers.network import network_of


@pytest.mark.parametrize(
    ("told", "network"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1:2::7", "2001:db8:1::/48"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        # As some proxies write it: with the port, and an address of IPv6 in brackets.
        ("203.0.113.77:50123", "203.0.113.0/24"),
        ("[2001:db8:1:2::7]:50123", "2001:db8:1::/48"),
        ("[2001:db8:1:2::7]", "2001:db8:1::/48"),
        ("198.51.100.7, 203.0.113.77", "203.0.113.0/24"),
        ("unknown", ""),
        ("unix:", ""),
        ("_hidden:443", ""),
    ],
)
def test_behind_a_proxy_it_is_what_the_proxy_added(
    settings: LazySettings, told: str, network: str
) -> None:
    settings.TRUST_PROXY = True
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR=told, REMOTE_ADDR="192.0.2.1")
    assert network_of(request) == network


@pytest.mark.parametrize(("told", "network"), [("192.0.2.1", "192.0.2.0/24"), ("", "")])
def test_without_a_proxy_it_is_that_of_the_connection(told: str, network: str) -> None:
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR="203.0.113.7", REMOTE_ADDR=told)
    assert network_of(request) == network

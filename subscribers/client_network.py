"""Which network a request came from: the only place that reads a visitor's address."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

# A household or an office; enough to count by and to show where consent came from, and too little
# to find a person.
IPV4_BITS = 24
IPV6_BITS = 48


def network_of(request: HttpRequest) -> str:
    """
    The visitor's network, such as `203.0.113.0/24` or `2001:db8:1::/48`; empty if it is not known.

    Behind a proxy (`TRUST_PROXY`) the last address of `X-Forwarded-For` counts: that is the one
    which the proxy itself added. Anything before it the visitor may have made up.
    """
    told = request.META.get("REMOTE_ADDR", "")
    if settings.TRUST_PROXY:
        told = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2] or told
    address = _address_in(told.strip())
    if address is None:
        return ""
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    bits = IPV4_BITS if isinstance(address, IPv4Address) else IPV6_BITS
    return str(ip_network((address, bits), strict=False))


def _address_in(told: str) -> IPv4Address | IPv6Address | None:
    """The address, also where a proxy wrote its port behind it; None if there is none."""
    for text in (told, told.rpartition(":")[0].strip("[]"), told.strip("[]")):
        try:
            return ip_address(text)
        except ValueError:
            continue
    return None

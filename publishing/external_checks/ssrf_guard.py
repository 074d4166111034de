"""
Which machines may be connected to when a link is opened: those of the public internet alone.

A letter is written by people, and what it links to is opened by our own machine, from within our
own network. Whoever may write must not be able to look around there.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

IPAddress = IPv4Address | IPv6Address
MayConnect = Callable[[IPAddress], bool]

# What carries an IPv4 address in an IPv6 one, besides what the library knows: NAT64 and 6to4.
_NAT64 = ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ip_network("64:ff9b:1::/48")


def is_public(address: IPAddress) -> bool:
    """Whether it is a machine that anybody on the internet could connect to."""
    inner = _inside(address)
    if inner is not None:
        return is_public(inner)
    if address in _LOCAL_NAT64:
        return False
    return address.is_global and not (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or getattr(address, "is_site_local", False)
    )


def _inside(address: IPAddress) -> IPv4Address | None:
    """The IPv4 address that an IPv6 one leads to."""
    if not isinstance(address, IPv6Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo


def as_address(host: str) -> IPAddress | None:
    """The address that a host is written as; None if it is a name."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None

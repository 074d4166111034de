"""Keep links away from this machine's network (server-side request forgery)."""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

IPAddress = IPv4Address | IPv6Address
AddressFilter = Callable[[IPAddress], bool]

# Addresses in these IPv6 ranges contain an IPv4 address. The standard library does not know these
# ranges.
_NAT64 = ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ip_network("64:ff9b:1::/48")


def is_public(address: IPAddress) -> bool:
    """Return whether an address is public: reachable for everyone on the internet."""
    inner = _embedded_ipv4(address)
    if inner is not None:
        return is_public(inner)
    if address in _LOCAL_NAT64:
        return False
    # `is_global` excludes private, loopback, link-local and unspecified addresses. Exclude
    # multicast, reserved and site-local addresses here.
    is_special = address.is_multicast or address.is_reserved
    return address.is_global and not (is_special or getattr(address, "is_site_local", False))


def _embedded_ipv4(address: IPAddress) -> IPv4Address | None:
    if not isinstance(address, IPv6Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo


def parse_address(host: str) -> IPAddress | None:
    """Parse a host as an IP address; None if the host is a name."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        return None

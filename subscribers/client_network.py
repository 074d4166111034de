"""Find the network that an HTTP request comes from."""

from contextlib import suppress
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

# A network of this size usually belongs to one household or office, which is precise enough for
# request limits and for records of consent.
IPV4_BITS = 24
IPV6_BITS = 48


def network_of(request: HttpRequest) -> str:
    """Return the visitor's network, such as `203.0.113.0/24`; empty if it is unknown.

    Behind a proxy, this is the network of the last address in `X-Forwarded-For`.
    """
    proxied = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.TRUST_PROXY else ""
    address_text = proxied.rpartition(",")[2] or request.META.get("REMOTE_ADDR", "")
    address_text = address_text.strip()
    without_port = address_text.rpartition(":")[0]
    for text in (address_text, without_port.strip("[]"), address_text.strip("[]")):
        with suppress(ValueError):
            address = ip_address(text)
            address = getattr(address, "ipv4_mapped", None) or address
            bits = IPV4_BITS if address.version == 4 else IPV6_BITS
            return str(ip_network((address, bits), strict=False))
    return ""

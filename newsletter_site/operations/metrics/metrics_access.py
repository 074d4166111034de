"""Who is shown /metrics. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from enum import Enum, auto
from ipaddress import ip_address

# What proxies add: a request with one of them came from elsewhere, wherever it seems to come from.
ADDED_BY_PROXIES = (
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
)


class MetricsAccess(Enum):
    """Whether, and how it is refused otherwise."""

    YES = auto()
    WRONG_TOKEN = auto()
    NOT_FROM_HERE = auto()


def check_access(meta: Mapping[str, object], token: str) -> MetricsAccess:
    """
    Whether a request with these WSGI variables may see them.

    With a token only that counts. Without one only a program on this machine that asked this
    machine by name or address: a proxy beside the site sends requests of strangers from here, and
    a web page can have a browser ask `127.0.0.1` under the page's own name.
    """
    if token:
        given = str(meta.get("HTTP_AUTHORIZATION", ""))
        return MetricsAccess.YES if _is(given, f"Bearer {token}") else MetricsAccess.WRONG_TOKEN
    is_from_here = (
        _is_loopback(str(meta.get("REMOTE_ADDR", "")))
        and not any(name in meta for name in ADDED_BY_PROXIES)
        and _names_loopback(str(meta.get("HTTP_HOST", "")))
    )
    return MetricsAccess.YES if is_from_here else MetricsAccess.NOT_FROM_HERE


def _is(given: str, wanted: str) -> bool:
    """In a time that says nothing. Hashed: the comparison is constant for equal lengths alone."""
    return hmac.compare_digest(
        hashlib.sha256(given.encode()).digest(), hashlib.sha256(wanted.encode()).digest()
    )


def _names_loopback(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return name.lower() == "localhost" or _is_loopback(name.strip("[]"))


def _is_loopback(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)

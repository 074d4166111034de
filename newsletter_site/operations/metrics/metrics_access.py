"""Who may read /metrics. Pure."""

import hashlib
import hmac
from collections.abc import Mapping
from http import HTTPStatus
from ipaddress import ip_address

# Headers that proxies add: a request with one of them came from elsewhere.
ADDED_BY_PROXIES = (
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
)


def check_access(meta: Mapping[str, object], token: str) -> HTTPStatus:
    """Check a request by its WSGI variables. Without a token the client must be on this machine and
    ask for a loopback name: a proxy passes strangers on, and a web page's name may resolve here."""
    if token:
        given = str(meta.get("HTTP_AUTHORIZATION", ""))
        # Hashed, because `compare_digest` tells different lengths apart.
        hashes = (hashlib.sha256(each.encode()).digest() for each in (given, f"Bearer {token}"))
        is_right = hmac.compare_digest(*hashes)
        return HTTPStatus.OK if is_right else HTTPStatus.UNAUTHORIZED
    is_local = (
        _is_loopback(str(meta.get("REMOTE_ADDR", "")))
        and not any(name in meta for name in ADDED_BY_PROXIES)
        and _names_loopback(str(meta.get("HTTP_HOST", "")))
    )
    return HTTPStatus.OK if is_local else HTTPStatus.FORBIDDEN


def _names_loopback(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return name.lower() == "localhost" or _is_loopback(name.strip("[]"))


def _is_loopback(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return bool((getattr(found, "ipv4_mapped", None) or found).is_loopback)

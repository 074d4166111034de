"""Classify the URLs of a letter without opening them. Pure."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urljoin, urlsplit

_WEB_SCHEMES = frozenset({"http", "https"})
# Names outside the public DNS (RFC 6761, 6762, 9476, and names of home networks).
_PRIVATE = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "test", "invalid")
# Reserved for examples (RFC 2606).
_EXAMPLES = ("example", "example.com", "example.net", "example.org")


def split_url(address: str) -> SplitResult | None:
    """Split a URL; None if it is not valid."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 -- raises if it is not a number
    except ValueError:
        return None
    return parts


def is_web_url(address: str) -> bool:
    """Return whether it is a complete URL of http or https."""
    parts = split_url(address)
    return parts is not None and parts.scheme.lower() in _WEB_SCHEMES and bool(parts.hostname)


def absolute_url(address: str, site_url: str) -> str:
    """Return the URL in the mail: an address with one leading slash is on our site."""
    is_rooted = address.startswith("/") and not address.startswith("//")
    return urljoin(f"{site_url}/", address) if is_rooted else address


def is_encrypted(address: str) -> bool:
    """Return whether it begins with https."""
    return address.strip().lower().startswith("https:")


def looks_public(address: str) -> bool:
    """Return whether its host looks reachable for readers, without a DNS query."""
    parts = split_url(address)
    host = ((parts.hostname if parts else None) or "").rstrip(".").lower()
    if not host:
        return False
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not _is_below(host, _PRIVATE)


def is_placeholder(domain: str) -> bool:
    """Return whether a domain is reserved for examples."""
    return _is_below(domain.rstrip(".").lower(), _EXAMPLES)


def _is_below(host: str, names: tuple[str, ...]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in names)

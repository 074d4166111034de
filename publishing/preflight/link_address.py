"""What an address in a letter is good for, told from how it is written. Pure."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

WEB = frozenset({"http", "https"})
# Names that no name server outside knows (RFC 6761, 6762, 9476 and what networks use at home).
_INSIDE = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "test", "invalid")
# Kept for examples (RFC 2606): nothing is ever behind them.
_EXAMPLES = ("example", "example.com", "example.net", "example.org")


def parts_of(address: str) -> SplitResult | None:
    """The address cut into its parts; None if it cannot be."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 -- refuses what is no number
    except ValueError:
        return None
    return parts


def is_whole(address: str) -> bool:
    """Whether it leads to the web from anywhere, and not only from a page beside it."""
    parts = parts_of(address)
    return parts is not None and parts.scheme.lower() in WEB and bool(parts.hostname)


def is_encrypted(address: str) -> bool:
    """Whether nobody on the way can read or change what comes from it."""
    return address.strip().lower().startswith("https:")


def is_from_outside(address: str) -> bool:
    """Whether it looks like one that readers can reach; a name server may know better."""
    parts = parts_of(address)
    host = ((parts.hostname if parts else None) or "").rstrip(".").lower()
    if not host:
        return False
    try:
        return ip_address(host).is_global
    except ValueError:
        return "." in host and not _is_below(host, _INSIDE)


def is_for_examples(domain: str) -> bool:
    """Whether a domain is one of those that are kept for examples."""
    return _is_below(domain.rstrip(".").lower(), _EXAMPLES)


def _is_below(host: str, names: tuple[str, ...]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in names)

"""Classify the URLs of a letter without opening them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import unescape
from ipaddress import ip_address
from urllib.parse import SplitResult, urljoin, urlsplit

from delivery.mail.letter_addresses import missing_before
from delivery.mail.merge_fields import FIELD_PATTERN, URL_FIELDS, find_fields
from delivery.reader_fields import ReaderField

_WEB_SCHEMES = frozenset({"http", "https"})
# Names of hosts outside the public DNS (RFC 6761, 6762, 9476, and names of home networks).
_PRIVATE = ("localhost", "local", "internal", "intranet", "lan", "home.arpa", "test", "invalid")
# Domains that are reserved for examples (RFC 2606).
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
    """Return whether the URL is complete and begins with http or https."""
    parts = split_url(address)
    return parts is not None and parts.scheme.lower() in _WEB_SCHEMES and bool(parts.hostname)


def absolute_url(address: str, site_url: str) -> str:
    """Return the URL as the mail has it; “/about” becomes an address on our site."""
    missing = missing_before(address, site_url)
    return urljoin(f"{site_url}/", address) if missing else address


def is_encrypted(address: str) -> bool:
    """Return whether the URL begins with https."""
    return address.strip().lower().startswith("https:")


def looks_public(address: str) -> bool:
    """Return whether the URL's host looks public, judged without a DNS query."""
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


class AddressPart(StrEnum):
    """A part of an address in which a reader's value is written without encoding.

    The values of this class are regular expressions that mean the same in PostgreSQL and in Python.
    A regular expression matches the field values that keep the address valid.
    """

    BEGINNING = r"^\s*(https?://[^\s/?#@]+[.][^\s@]+|mailto:[^\s@]+@[^\s@]+|tel:[0-9+-]+)\s*$"
    HOST = r"^[A-Za-z0-9-]+([.][A-Za-z0-9-]+)*$"
    RECIPIENT = r"^[^\s@]+@[^\s@]+[.][^\s@]+$"


@dataclass(frozen=True, slots=True)
class FieldInAddress:
    """A field whose value or fallback may make an address invalid."""

    field: str
    fallback: str
    part: AddressPart
    address: str

    @property
    def has_valid_fallback(self) -> bool:
        """Return whether the address is valid with the field's fallback."""
        return bool(re.search(self.part, self.fallback))


_UP_TO_FIELD = {
    AddressPart.BEGINNING: re.compile(r"\s*"),
    AddressPart.HOST: re.compile(r"\s*https?://[^/?#]*", re.IGNORECASE),
    AddressPart.RECIPIENT: re.compile(r"\s*mailto:", re.IGNORECASE),
}
_IN_TEXT = re.compile(rf"https?://(?>(?:[^\s<>\"{{]|{FIELD_PATTERN.pattern}|\{{)*)")


def addresses_in(text: str) -> Iterator[str]:
    """Yield the addresses in a plain text."""
    return (found[0] for found in _IN_TEXT.finditer(text))


def fields_in_addresses(
    addresses: Iterable[str], own: Iterable[ReaderField]
) -> list[FieldInAddress]:
    """Return the merge fields that may make one of these addresses invalid."""
    fallbacks = {field.name: field.fallback for field in own}
    known = {*fallbacks, "name", "email"} - {*URL_FIELDS}
    return [
        FieldInAddress(name, unescape(found[2] or "").strip() or fallback, part, address)
        for address in dict.fromkeys(addresses)
        if "{{" in address
        for found in find_fields(address)
        if (name := found[1].strip()) in known
        for part, before in _UP_TO_FIELD.items()
        if before.fullmatch(address, 0, found.start())
        for fallback in [fallbacks.get(name, "")]
        if not (part is AddressPart.RECIPIENT and name == "email")
    ]

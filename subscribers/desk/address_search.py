"""Searches for addresses, in either spelling of an international domain.

Addresses are stored with domains in ASCII. A part of a domain between two dots is found by its
complete Unicode spelling.
"""

from django.db.models import QuerySet

from subscribers.address import read_address
from subscribers.models import Subscriber


def in_ascii(text: str) -> str:
    """Write the domain, or all of a text without `@`, as addresses are stored."""
    local_part, at_sign, domain = text.rpartition("@")
    labels = [label if label.isascii() else _label_in_ascii(label) for label in domain.split(".")]
    return f"{local_part}{at_sign}{'.'.join(labels)}".lower()


def starting_with(readers: QuerySet[Subscriber], text: str) -> QuerySet[Subscriber]:
    """Select the readers whose address starts with `text`, with its index."""
    return readers.filter(email_key__startswith=in_ascii(text))


def _label_in_ascii(label: str) -> str:
    address = read_address(f"x@{label}.org")
    return address[len("x@") : -len(".org")] if isinstance(address, str) else label

"""Check addresses by the patterns that Postmark publishes.

`?`, quotes, underscores in domains and characters outside ASCII are refused.
"""

import re
from dataclasses import dataclass
from typing import Any

from postmark_sandbox.http import PostmarkError

MAILBOX = re.compile(r"[a-z0-9.!#$%&'`*+\-/=^_{}|~]+", re.IGNORECASE | re.ASCII)
DOMAIN = re.compile(r"(?:\.?[a-zA-Z0-9-])+", re.ASCII)
# A fast path: this one pattern already accepts nearly every recipient.
PLAIN = re.compile(
    r"[A-Za-z0-9!#$%&'`*+\-/=^_{}|~]+(?:\.[A-Za-z0-9!#$%&'`*+\-/=^_{}|~]+)*"
    r"@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*",
    re.ASCII,
)
# A display name with any of these characters must be a quoted string.
PUNCTUATION = frozenset('()<>[]:;@\\,."')
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
# Text between commas. Commas in a quoted string or in angle brackets do not count.
PIECE = re.compile(
    r"""(?:"(?:[^"\\]|\\.)*"?|<(?:"(?:[^"\\]|\\.)*"?|[^>"])*>?|[^,"<])+""", re.DOTALL
)
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Mailbox:
    address: str
    name: str | None = None


def read_list(text: str, field: str) -> list[Mailbox]:
    """Split a comma-separated field into mailboxes, or raise Postmark's error 300.

    Empty pieces are ignored.
    """
    if PLAIN.fullmatch(text):
        return [Mailbox(text)]
    return [read_mailbox(piece, field) for piece in PIECE.findall(text) if piece.strip()]


def read_mailbox(text: str, field: str) -> Mailbox:
    """Read a mailbox, with or without a name.

    The forms are `ada@example.net`, `Ada <ada@example.net>` and `"Ada, Jr." <ada@example.net>`.
    """
    text = text.strip()
    if CONTROL.search(text):
        raise PostmarkError(300, f"Invalid '{field}' address: '{text}'.")
    if not text.endswith(">"):
        return Mailbox(checked(text, field))
    name, _, rest = text[:-1].rpartition("<")
    name = name.strip()
    if QUOTED.fullmatch(name):
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    elif not PUNCTUATION.isdisjoint(name):
        raise PostmarkError(300, f"Invalid '{field}' address: '{text}'.")
    return Mailbox(checked(rest.strip(), field), name or None)


def checked(address: str, field: str) -> str:
    """Return the address if Postmark accepts it, else raise 300 with the reason."""
    parsing = f"Error parsing '{field}': Illegal email"
    if "@" not in address:
        raise PostmarkError(300, f"{parsing} address '{address}'. It must contain the '@' symbol.")
    mailbox, _, domain = address.rpartition("@")
    if not MAILBOX.fullmatch(mailbox) or mailbox[0] == "." or mailbox[-1] == "." or ".." in mailbox:
        raise PostmarkError(300, f"Invalid '{field}' address: '{address}'.")
    if not DOMAIN.fullmatch(domain):
        raise PostmarkError(300, f"{parsing} domain '{domain}' in address '{address}'.")
    return address


def address_error(found: Any) -> str | None:
    """Return Postmark's error for an invalid suppression address, else None."""
    try:
        checked(found if isinstance(found, str) else "", "EmailAddress")
    except PostmarkError:
        return "An invalid email address was provided."
    return None


def domain_of(address: str) -> str:
    return address.rpartition("@")[2].lower()

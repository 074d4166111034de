"""Write a message as the bytes that a server gets (RFC 5322, RFC 2045 to 2047).

Django's messages take ten times the CPU time (docs/decisions/0074-any-provider.md). Most headers of
an edition are the same in each message, so their encoded forms are kept.
"""

import binascii
import re
from collections.abc import Mapping
from email.header import Header
from email.utils import formataddr, parseaddr
from functools import lru_cache
from typing import Any

from delivery.control_characters import CONTROL_CHARACTERS

# Quoted-printable text never has these two signs in this order.
BOUNDARY = "=_homing_part"
# RFC 5322, section 2.1.1: the longest line without its end.
LONGEST_LINE = 998
_ENDS = re.compile(r"\r\n?")
_MULTIPART = f'Content-Type: multipart/alternative; boundary="{BOUNDARY}"\r\n\r\n'


def write_mime(message: Mapping[str, Any], date: str, extra: Mapping[str, str]) -> bytes:
    """Write a message with its headers and those in `extra`. `date` is by RFC 5322.

    A message with one part has no boundary. All lines end in CRLF.
    """
    lines = [
        _mailbox("From", message["sender"]),
        _header("To", message["to"]),
        _mailbox("Reply-To", message["reply_to"]) if message["reply_to"] else "",
        _header("Subject", message["subject"]),
        f"Date: {date}\r\n",
        *(_header(name, value) for name, value in (*message["headers"], *extra.items())),
        "MIME-Version: 1.0\r\n",
    ]
    parts = {"plain": message["text"], "html": message["html"]}
    written = [_part(kind, text) for kind, text in parts.items() if text]
    head = "".join(lines).encode("ascii")
    if len(written) < len(parts):
        return head + b"".join(written)
    begin = f"--{BOUNDARY}\r\n".encode()
    end = f"\r\n--{BOUNDARY}--\r\n".encode()
    return head + _MULTIPART.encode() + begin + (b"\r\n" + begin).join(written) + end


def _part(kind: str, text: str) -> bytes:
    """Write a part in quoted-printable, which every server takes as it is."""
    head = (
        f"Content-Type: text/{kind}; charset=utf-8\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n"
    )
    encoded = binascii.b2a_qp(_ENDS.sub("\n", text).encode(), istext=True)
    return head.encode() + encoded.replace(b"\n", b"\r\n")


def _header(name: str, value: str) -> str:
    """Write a header. A short value stays on one line, as programs expect of links."""
    if value.isascii() and value.isprintable() and len(name) + len(value) + 2 <= LONGEST_LINE:
        return f"{name}: {value}\r\n"
    return _encoded(name, value)


@lru_cache(maxsize=1000)
def _encoded(name: str, value: str) -> str:
    line = CONTROL_CHARACTERS.sub(" ", value)
    folded = Header(line, "utf-8", maxlinelen=76, header_name=name).encode(linesep="\r\n")
    return f"{name}: {folded}\r\n"


@lru_cache(maxsize=1000)
def _mailbox(name: str, value: str) -> str:
    shown, address = parseaddr(value)
    if shown.isascii():
        return f"{name}: {formataddr((shown, address))}\r\n"
    # Encoded words, which would not be read inside quotes (RFC 2047).
    words = Header(CONTROL_CHARACTERS.sub(" ", shown), "utf-8", maxlinelen=75).encode(linesep="")
    return f"{name}: {words} <{address}>\r\n"

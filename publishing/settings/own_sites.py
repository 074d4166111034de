"""The author's own sites, whose sign-up forms need no second press on our site."""

import re
import unicodedata
from urllib.parse import urlsplit

MOST = 10
LONGEST = 300  # longest address, in characters
# These hosts may use http, because pages on the author's own machine have no certificate.
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
# These characters are refused. In a URL, the part before an @ is a user name, not a host. Browsers
# keep or drop joiners (U+200C, U+200D), depending on the context. Σ has two lower-case forms.
_UNCLEAR = re.compile("[@\u200c\u200dΣ]")
# Browsers keep these letters in a host. Python's codec follows an older standard and writes ß as
# ss, which would name another site.
_KEPT = re.compile("[ßς]")


def read_origin(address: str) -> str:
    """Return the origin of an address as browsers send it; empty without an origin.

    Every address with https has an origin. An address with http has an origin only if it names the
    author's own machine.
    """
    if len(address) > LONGEST:
        return ""
    try:
        parts = urlsplit(address.strip())
        name, port = parts.hostname or "", parts.port
        host = f"[{name}]" if "[" in parts.netloc else ".".join(map(_in_ascii, name.split(".")))
    except ValueError:
        return ""
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and name in _LOOPBACK)
    if not is_safe or not _HOST.fullmatch(host) or _UNCLEAR.search(parts.netloc):
        return ""
    shown = "" if port in (None, _PORTS[parts.scheme]) else f":{port}"
    return f"{parts.scheme}://{host}{shown}"


def _in_ascii(label: str) -> str:
    if _KEPT.search(label):
        return "xn--" + unicodedata.normalize("NFKC", label).encode("punycode").decode("ascii")
    return label.encode("idna").decode("ascii")


def read_origins(text: str) -> tuple[list[str], list[str]]:
    """Return the origins of the lines, each once, and the lines without an origin."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    origins = dict.fromkeys(origin for line in lines if (origin := read_origin(line)))
    return list(origins), [line for line in lines if not read_origin(line)]

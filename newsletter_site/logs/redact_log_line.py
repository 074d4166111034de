"""Redact secrets, addresses, links, quotations and tokens from log lines."""

import base64
import re
from collections.abc import Iterable
from urllib.parse import quote

from delivery.redact_addresses import redact_addresses

# A shorter secret may be an ordinary word (docs/logs.md).
MIN_SECRET_LENGTH = 6
# All our tokens are longer (28 characters or more), and most words are shorter.
MIN_TOKEN_LENGTH = 20

# The path of a link may contain a token.
_LINK = re.compile(r"(?<=://)([^\s/?#\"'<>]+)[/?#][^\s\"'<>]*")
# Match to the last closing quotation mark of the text, because a quotation may contain quotation
# marks.
_QUOTED = re.compile(r"“(?:.*”|.*$)", re.DOTALL)
_RUN = re.compile(rf"[A-Za-z0-9_-]{{{MIN_TOKEN_LENGTH},}}={{0,2}}")
_ID = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WORDS = re.compile(r"(?:[A-Z]?[a-z]{2,}|[A-Z]{2,}|[-_=])+")

SECRET, ADDRESS, TOKEN = "[secret]", "[address]", "[token]"


class Redactor:
    """Redact texts. The values in `secrets` are redacted wherever they occur."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings = {
            spelling
            for secret in secrets
            if len(secret) >= MIN_SECRET_LENGTH
            for spelling in (secret, quote(secret, safe=""), repr(secret)[1:-1])
        }
        # Try the longest secret first, because one secret may be the beginning of another.
        longest_first = sorted(spellings, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if spellings else None

    def redact(self, text: str) -> str:
        """Redact secrets, addresses, paths of links, tokens and quotations (“…”)."""
        if "“" in text:
            text = _QUOTED.sub("“…”", text)
        if self._secrets is not None:
            text = self._secrets.sub(SECRET, text)
        if "://" in text:
            text = _LINK.sub(r"\1/…", text)
        text = redact_addresses(text, ADDRESS)
        return _RUN.sub(lambda run: TOKEN if looks_random(run[0]) else run[0], text)


def basic_credentials(user: str, password: str) -> str:
    """Encode user and password as in an HTTP header. Return "" unless both are set."""
    return base64.b64encode(f"{user}:{password}".encode()).decode() if user and password else ""


def looks_random(text: str) -> bool:
    """Return whether a run of letters and digits is a token, not a name or an id.

    A run with upper-case and lower-case letters is a token if it has digits or does not consist of
    words. A run with letters of one case only is a token if it has digits and a long part without
    separators.
    """
    if _ID.fullmatch(text):
        return False
    digits = any(letter.isdigit() for letter in text)
    lower = any(letter.islower() for letter in text)
    upper = any(letter.isupper() for letter in text)
    if lower and upper and (digits or not _WORDS.fullmatch(text)):
        return True
    longest_part = max(map(len, re.split(r"[-_=]", text)))
    return digits and (lower or upper) and longest_part >= MIN_TOKEN_LENGTH

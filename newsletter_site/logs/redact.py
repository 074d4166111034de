"""
The last net under the log: what looks like a secret, a person or a permission is taken out.

Nothing of ours writes one. But a line may come from a library, or from code that is written next
year, and what once stands in a log stays there. So every line goes through here, whoever wrote it.
The net is no licence: it knows the secrets of the settings, addresses, links and long random texts,
and nothing of names, titles and letters.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from urllib.parse import quote

# A shorter secret is also a word that lines are made of; docs/logs.md says so.
SHORTEST_SECRET = 6
# Shorter than any token of ours (28 characters), longer than words are.
SHORTEST_TOKEN = 20

# Bounded, as a text without spaces is gone through from each letter; no address is longer.
_ADDRESS = re.compile(r"[^\s@<>\"'(),;:=\[\]{}|/]{1,320}(?:@|%40)[^\s@<>\"'(),;:=\[\]{}|/?&]+")
# What follows the host of a link may be the permission itself.
_LINK = re.compile(r"(?<=://)([^\s/?#\"'<>]+)[/?#][^\s\"'<>]*")
# To the last mark: what is quoted may have marks of its own.
_QUOTED = re.compile(r"“(?:.*”|.*$)", re.DOTALL)
_RUN = re.compile(rf"[A-Za-z0-9_-]{{{SHORTEST_TOKEN},}}={{0,2}}")
_ID = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

SECRET, ADDRESS, TOKEN = "[secret]", "[address]", "[token]"


class Redactor:
    """Takes out of a text what must not stand in the log. `secrets` are known by their values."""

    def __init__(self, secrets: Iterable[str]) -> None:
        values = {
            spelling
            for secret in secrets
            if len(secret) >= SHORTEST_SECRET
            for spelling in (secret, quote(secret, safe=""), repr(secret)[1:-1])
        }
        # The longest first: one secret may begin as another does.
        longest_first = sorted(values, key=len, reverse=True)
        self._secrets = re.compile("|".join(map(re.escape, longest_first))) if values else None

    def through(self, text: str) -> str:
        """
        The text without secrets, addresses, what follows the host of a link, and tokens; and of
        what it quotes (as “that”) nothing, because those are somebody else's words.
        """
        if "“" in text:
            text = _QUOTED.sub("“…”", text)
        if self._secrets is not None:
            text = self._secrets.sub(SECRET, text)
        if "://" in text:
            text = _LINK.sub(r"\1/…", text)
        if "@" in text or "%40" in text:
            text = _ADDRESS.sub(ADDRESS, text)
        return _RUN.sub(_unless_harmless, text)


def basic_credentials(user: str, password: str) -> str:
    """User and password as a header carries them; empty without both."""
    return base64.b64encode(f"{user}:{password}".encode()).decode() if user and password else ""


def _unless_harmless(found: re.Match[str]) -> str:
    return TOKEN if looks_random(found[0]) else found[0]


def looks_random(text: str) -> bool:
    """
    Whether a long run of letters and digits is a token and not a name or an id.

    An id of 32 hexadecimal digits says nothing and is what a log is searched for. A token of ours,
    a session or a signature has digits among letters of both cases, or digits among letters that
    no hexadecimal number has, without the breaks that names have.
    """
    if _ID.fullmatch(text):
        return False
    digits = any(letter.isdigit() for letter in text)
    lower = any(letter.islower() for letter in text)
    upper = any(letter.isupper() for letter in text)
    if lower and upper and (digits or not _is_of_words(text)):
        return True
    unbroken = max(map(len, re.split(r"[-_=]", text)))
    return digits and (lower or upper) and unbroken >= SHORTEST_TOKEN


def _is_of_words(text: str) -> bool:
    """Whether it is put together of words, as the names of classes and headers are."""
    return re.fullmatch(r"(?:[A-Z]?[a-z]{2,}|[A-Z]{2,}|[-_=])+", text) is not None

"""
Asking the name servers, and telling “there is nothing” from “nobody answered”.

Which servers are asked is given, so that a test has its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import dns.exception
import dns.rdatatype
import dns.resolver

from publishing.external_checks.domain_records import Records, Said

logger = logging.getLogger(__name__)

LONGEST_QUESTION_S = 3.0
_LONGEST_TRY_S = 1.5


class NameServers:
    """The name servers of this machine, or those that are given as addresses and a port."""

    def __init__(self, servers: list[str] | None = None, port: int = 53) -> None:
        self._resolver: dns.resolver.Resolver | None
        try:
            self._resolver = dns.resolver.Resolver(configure=servers is None)
        except dns.resolver.NoResolverConfiguration:
            self._resolver = None  # this machine knows none
            return
        if servers is not None:
            self._resolver.nameservers = servers
            self._resolver.port = port
        self._resolver.timeout = _LONGEST_TRY_S
        # A name is whole: nothing is looked for beneath the domain of this machine.
        self._resolver.search = []

    def ask(self, name: str, kind: str, *, until: float) -> Records:
        """
        The records of a kind at a name. `until` bounds it, by the clock of `time.monotonic`.

        It never raises: what cannot be asked has no answer.
        """
        longest = min(LONGEST_QUESTION_S, until - time.monotonic())
        if self._resolver is None or longest <= 0:
            return Records(Said.NO_ANSWER)
        try:
            answer = self._resolver.resolve(f"{name.rstrip('.')}.", kind, lifetime=longest)
        except dns.resolver.NXDOMAIN:
            return Records(Said.NO_SUCH_NAME)
        except dns.resolver.NoAnswer:
            return Records(Said.NOTHING)
        except (dns.exception.DNSException, OSError, ValueError) as error:
            logger.info("No name server answered for %s: %s", kind, type(error).__name__)
            return Records(Said.NO_ANSWER)
        return Records(Said.FOUND, tuple(sorted(map(_words[kind], answer))))


def _text(record: object) -> str:
    # A text is sent in pieces of at most 255 bytes, which belong together without blanks.
    pieces: tuple[bytes, ...] = getattr(record, "strings", ())
    return b"".join(pieces).decode("utf-8", "replace").replace("\x00", "")


def _alias(record: object) -> str:
    return str(getattr(record, "target", "")).rstrip(".").lower()


def _address(record: object) -> str:
    return str(getattr(record, "address", ""))


_words: dict[str, Callable[[object], str]] = {
    "TXT": _text,
    "CNAME": _alias,
    "A": _address,
    "AAAA": _address,
}

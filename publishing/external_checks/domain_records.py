"""Look up the SPF, DKIM, return-path and DMARC records of a sender's domain.

`NO_ANSWER` means that no name server answered, and says nothing about the domain.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import dns.exception
import dns.resolver

from delivery.interface import capabilities
from delivery.log_context import inherited

logger = logging.getLogger(__name__)

TOTAL_TIMEOUT_S = 6.0
QUERY_TIMEOUT_S = 3.0
_ATTEMPT_TIMEOUT_S = 1.5
# A TXT record consists of parts of at most 255 bytes. Join them without spaces.
_VALUE_OF: dict[str, Callable[[Any], str]] = {
    "TXT": lambda row: b"".join(row.strings).decode("utf-8", "replace").replace("\x00", ""),
    "CNAME": lambda row: str(row.target).rstrip(".").lower(),
    "A": lambda row: str(row.address),
    "AAAA": lambda row: str(row.address),
}


class DnsStatus(StrEnum):
    """The result of one DNS query."""

    FOUND = "found"
    NO_RECORD = "no record"  # there is no such record; the name may not exist either
    NO_SUCH_NAME = "no such name"
    NO_ANSWER = "no answer"  # no name server answered in time


@dataclass(frozen=True, slots=True)
class Records:
    """The result of one query: its status, and the records that it found."""

    status: DnsStatus
    values: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """True if a name server answered."""
        return self.status is not DnsStatus.NO_ANSWER


@dataclass(frozen=True, slots=True)
class DomainRecords:
    """A domain's TXT, DKIM, return path and DMARC records.

    `dmarc_at` is the domain at which the DMARC record was found.
    """

    domain: str
    texts: Records
    dkim: Records
    return_path: Records
    dmarc: Records
    dmarc_at: str

    @property
    def is_known(self) -> bool:
        """True if a name server answered every query."""
        return all(one.is_known for one in (self.texts, self.dkim, self.return_path, self.dmarc))

    @property
    def has_dkim_key(self) -> bool:
        """True if the domain has a DKIM key; an empty key is revoked (RFC 6376, 3.6.1)."""
        return any(_tags(text).get("p") for text in self.dkim.values)

    @property
    def dmarc_records(self) -> tuple[str, ...]:
        """The DMARC records. If a domain has several, receivers ignore all of them."""
        return tuple(
            text for text in self.dmarc.values if _tags(text).get("v", "").upper() == "DMARC1"
        )

    @property
    def dmarc_policy(self) -> str:
        """The first DMARC record's policy, which is “none”, “quarantine” or “reject”."""
        tags = _tags(self.dmarc_records[0]) if self.dmarc_records else {}
        above = self.dmarc_at != self.domain
        return ((tags.get("sp") if above else None) or tags.get("p") or "none").lower()

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> DomainRecords:
        """Make the records from a dict that `asdict` made."""
        asked = {
            name: Records(DnsStatus(saved[name]["status"]), tuple(saved[name]["values"]))
            for name in ("texts", "dkim", "return_path", "dmarc")
        }
        return cls(domain=saved["domain"], dmarc_at=saved["dmarc_at"], **asked)


def domain_of(sender: str) -> str:
    """Return the domain of a sender: an address, or a name and an address."""
    return sender.rstrip("> ").rpartition("@")[2].lower()


def _tags(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip().lower(): value.strip() for name, sign, value in pairs if sign}


class NameServers:
    """The name servers of this machine, or the servers at the given addresses."""

    def __init__(self, servers: list[str] | None = None, port: int = 53) -> None:
        try:
            self._resolver = dns.resolver.Resolver(configure=servers is None)
        except dns.resolver.NoResolverConfiguration:
            self._resolver = dns.resolver.Resolver(configure=False)  # there are no name servers
        if servers is not None:
            self._resolver.nameservers = servers
            self._resolver.port = port
        self._resolver.timeout = _ATTEMPT_TIMEOUT_S
        # Do not try names with the search domains of this machine, because all queried names are
        # complete.
        self._resolver.search = []

    def query(self, name: str, kind: str, *, deadline: float) -> Records:
        """Query one kind of record. Never raises.

        The query ends at the latest at the `deadline`, a value of `time.monotonic`.
        """
        lifetime = min(QUERY_TIMEOUT_S, deadline - time.monotonic())
        if lifetime <= 0:
            return Records(DnsStatus.NO_ANSWER)
        try:
            answer = self._resolver.resolve(f"{name.rstrip('.')}.", kind, lifetime=lifetime)
        except dns.resolver.NXDOMAIN:
            return Records(DnsStatus.NO_SUCH_NAME)
        except dns.resolver.NoAnswer:
            return Records(DnsStatus.NO_RECORD)
        except (dns.exception.DNSException, OSError, ValueError) as error:
            logger.info("No name server answered for %s: %s", kind, type(error).__name__)
            return Records(DnsStatus.NO_ANSWER)
        return Records(DnsStatus.FOUND, tuple(sorted(map(_VALUE_OF[kind], answer))))


def look_up_domain(domain: str, servers: NameServers) -> DomainRecords:
    """Query all records concurrently, within `TOTAL_TIMEOUT_S`. Never raises."""
    deadline = time.monotonic() + TOTAL_TIMEOUT_S
    wanted = capabilities().sender_records
    dkim_name = f"{wanted.dkim}.{domain}" if wanted else ""
    return_path_name = f"{wanted.return_path}.{domain}" if wanted else ""

    @inherited
    def query(name: str, kind: str) -> Records:
        if not name:  # the provider does not say where the record is
            return Records(DnsStatus.NO_RECORD)
        return servers.query(name, kind, deadline=deadline)

    with ThreadPoolExecutor(4, thread_name_prefix="domain") as pool:
        texts = pool.submit(query, domain, "TXT")
        dkim = pool.submit(query, dkim_name, "TXT")
        return_path = pool.submit(query, return_path_name, "CNAME")
        dmarc = pool.submit(inherited(_query_dmarc), domain, servers, deadline)
        policy, dmarc_at = dmarc.result()
        return DomainRecords(
            domain, texts.result(), dkim.result(), return_path.result(), policy, dmarc_at
        )


def _query_dmarc(domain: str, servers: NameServers, deadline: float) -> tuple[Records, str]:
    """Find the DMARC record of the domain, or of its nearest parent with a record."""
    labels = domain.split(".")
    for first in range(max(1, len(labels) - 1)):
        name = ".".join(labels[first:])
        found = servers.query(f"_dmarc.{name}", "TXT", deadline=deadline)
        if not found.is_known:
            return found, domain
        if any(text.lower().replace(" ", "").startswith("v=dmarc1") for text in found.values):
            return found, name
    return Records(DnsStatus.NO_RECORD), domain

"""The records of a sender's domain. “No answer” says nothing about the domain."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class DnsStatus(StrEnum):
    """The result of one DNS query."""

    FOUND = "found"
    NO_RECORD = "no record"  # the name exists, or may exist, without such a record
    NO_SUCH_NAME = "no such name"
    NO_ANSWER = "no answer"  # no name server answered in time


@dataclass(frozen=True, slots=True)
class Records:
    """The records that one query found."""

    status: DnsStatus
    values: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether a name server answered."""
        return self.status is not DnsStatus.NO_ANSWER


@dataclass(frozen=True, slots=True)
class DomainRecords:
    """A domain's TXT, DKIM, return path and DMARC records; `dmarc_at` is where DMARC was found."""

    domain: str
    texts: Records
    dkim: Records
    return_path: Records
    dmarc: Records
    dmarc_at: str

    @property
    def is_known(self) -> bool:
        """Whether every query was answered."""
        return all(
            records.is_known for records in (self.texts, self.dkim, self.return_path, self.dmarc)
        )

    @property
    def has_dkim_key(self) -> bool:
        """Whether a key was found. An empty one was revoked (RFC 6376, 3.6.1)."""
        return any(_tags(text).get("p") for text in self.dkim.values)

    @property
    def dmarc_records(self) -> tuple[str, ...]:
        """The DMARC records. Receivers ignore them if there are more than one."""
        return tuple(
            text for text in self.dmarc.values if _tags(text).get("v", "").upper() == "DMARC1"
        )

    @property
    def dmarc_policy(self) -> str:
        """What the first DMARC record asks for this domain: “none”, “quarantine” or “reject”."""
        tags = _tags(self.dmarc_records[0]) if self.dmarc_records else {}
        above = self.dmarc_at != self.domain
        return ((tags.get("sp") if above else None) or tags.get("p") or "none").lower()

    def as_json(self) -> dict[str, Any]:
        """The value as it is saved."""
        return asdict(self)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> DomainRecords:
        """Read what `as_json` wrote."""
        asked = {
            name: Records(DnsStatus(saved[name]["status"]), tuple(saved[name]["values"]))
            for name in ("texts", "dkim", "return_path", "dmarc")
        }
        return cls(domain=saved["domain"], dmarc_at=saved["dmarc_at"], **asked)


def domain_of(sender: str) -> str:
    """The domain of a sender, which may have a name before the address."""
    return sender.rstrip("> ").rpartition("@")[2].lower()


def _tags(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip().lower(): value.strip() for name, sign, value in pairs if sign}

"""
What the name servers say of a sender's domain, as a value.

That nobody answered is not that there is nothing: the first says nothing at all about the domain.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Said(StrEnum):
    """What came of one question to the name servers."""

    FOUND = "found"
    NOTHING = "nothing"  # the name is there, or may be, and has no such record
    NO_SUCH_NAME = "no such name"
    NO_ANSWER = "no answer"  # no name server answered in time, or none could


@dataclass(frozen=True, slots=True)
class Records:
    """The answer to one question: which records, if any."""

    said: Said
    values: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether anybody answered."""
        return self.said is not Said.NO_ANSWER


@dataclass(frozen=True, slots=True)
class DomainRecords:
    """
    What was asked about a domain before mail goes out in its name.

    `texts` are those of the domain itself, among them SPF. `dkim` are the texts at `pm._domainkey`,
    `return_path` the aliases at `pm-bounces`. `dmarc` stands at `dmarc_at`, which is the domain or
    one above it.
    """

    domain: str
    texts: Records
    dkim: Records
    return_path: Records
    dmarc: Records
    dmarc_at: str

    @property
    def is_known(self) -> bool:
        """Whether every question was answered."""
        return all(
            records.is_known for records in (self.texts, self.dkim, self.return_path, self.dmarc)
        )

    @property
    def has_dkim_key(self) -> bool:
        """
        Whether a key was found. That none was is not that there is none.

        One without anything in it was revoked (RFC 6376, 3.6.1).
        """
        return any(_tags(text).get("p") for text in self.dkim.values)

    @property
    def dmarc_records(self) -> tuple[str, ...]:
        """The texts that are DMARC records. There may be one; receivers ignore more."""
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
        """As it is kept."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> DomainRecords:
        """What `as_json` made."""
        asked = {
            name: Records(Said(kept[name]["said"]), tuple(kept[name]["values"]))
            for name in ("texts", "dkim", "return_path", "dmarc")
        }
        return cls(domain=kept["domain"], dmarc_at=kept["dmarc_at"], **asked)


def domain_of(sender: str) -> str:
    """The domain of a sender that may have a name before the address."""
    return sender.rstrip("> ").rpartition("@")[2].lower()


def _tags(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip().lower(): value.strip() for name, sign, value in pairs if sign}

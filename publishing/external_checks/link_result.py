"""The result of opening a link."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# Servers that answer these mean it.
_GONE = frozenset({404, 410})


class LinkError(StrEnum):
    """Why a link led to no response; the values are shown to authors."""

    NONE = ""
    NO_SUCH_HOST = "no such host"
    DNS_FAILED = "the host could not be looked up"
    NOT_PUBLIC = "an address that is not public"
    NOT_A_WEB_URL = "not an address of the web"
    TOO_MANY_REDIRECTS = "too many redirects"
    REFUSED = "the connection was refused"
    CERTIFICATE = "a certificate that is not valid"
    TIMEOUT = "no answer in time"
    INVALID_RESPONSE = "an answer that is none"


# Errors that a reader may not meet.
_MAY_PASS = frozenset(
    {LinkError.NONE, LinkError.DNS_FAILED, LinkError.TIMEOUT, LinkError.INVALID_RESPONSE}
)


@dataclass(frozen=True, slots=True)
class LinkResult:
    """The status of the last response, or the error; `url` is the URL after redirects."""

    status: int = 0
    error: LinkError = LinkError.NONE
    url: str = ""

    @property
    def is_dead(self) -> bool:
        """Whether no reader could open it."""
        return self.status in _GONE or self.status >= 500 or self.error not in _MAY_PASS

    @property
    def is_ok(self) -> bool:
        """Whether it led to a page."""
        return 200 <= self.status < 400

    @property
    def words(self) -> str:
        """The result in words: “answers 404”."""
        return f"answers {self.status}" if self.status else str(self.error)

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> LinkResult:
        """Read what `asdict` made."""
        return cls(saved["status"], LinkError(saved["error"]), saved["url"])

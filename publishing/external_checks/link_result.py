"""What came of opening a link, as a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

# Servers that say these mean it.
_GONE = frozenset({404, 410})


class Trouble(StrEnum):
    """Why a link did not answer with a page."""

    NONE = ""
    NO_SUCH_HOST = "no such host"
    NOT_LOOKED_UP = "the host could not be looked up"
    NOT_PUBLIC = "an address that is not public"
    NOT_WEB = "not an address of the web"
    TOO_MANY_REDIRECTS = "too many redirects"
    REFUSED = "the connection was refused"
    CERTIFICATE = "a certificate that is not valid"
    TOO_SLOW = "no answer in time"
    BROKEN = "an answer that is none"


@dataclass(frozen=True, slots=True)
class LinkAnswer:
    """The last status that was answered, or the trouble on the way to it; `at` is where."""

    status: int = 0
    trouble: Trouble = Trouble.NONE
    at: str = ""

    @property
    def is_dead(self) -> bool:
        """Surely nothing that a reader could open."""
        return (
            self.status in _GONE
            or self.status >= 500
            or self.trouble
            in {
                Trouble.NO_SUCH_HOST,
                Trouble.NOT_PUBLIC,
                Trouble.NOT_WEB,
                Trouble.TOO_MANY_REDIRECTS,
                Trouble.REFUSED,
                Trouble.CERTIFICATE,
            }
        )

    @property
    def is_well(self) -> bool:
        """It led to a page."""
        return 200 <= self.status < 400

    @property
    def words(self) -> str:
        """What is said of it beside its address: “answers 404”."""
        return f"answers {self.status}" if self.status else str(self.trouble)

    def as_json(self) -> dict[str, Any]:
        """As it is kept."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> LinkAnswer:
        """What `as_json` made."""
        return cls(int(kept["status"]), Trouble(kept["trouble"]), str(kept["at"]))

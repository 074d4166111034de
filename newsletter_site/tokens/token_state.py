"""How a token stands, in words, by the database's clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from delivery.interface import database_time
from newsletter_site.models.api_token import ApiToken


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether it is accepted, and what is said of it."""

    is_good: bool
    words: str


def standing_of(token: ApiToken, now: datetime | None = None) -> Standing:
    """How it stands at `now`, the database's time; asked for where it is not given."""
    now = now or database_time()
    if token.revoked_at is not None:
        return Standing(False, f"revoked {_day(token.revoked_at)}")
    if token.expires_at is not None and token.expires_at <= now:
        return Standing(False, f"expired {_day(token.expires_at)}")
    used = f"used {_day(token.last_used_at)}" if token.last_used_at else "never used"
    until = f", until {_day(token.expires_at)}" if token.expires_at else ", without an end"
    return Standing(True, f"{used}{until}")


def _day(at: datetime) -> str:
    """Such as 9 Oct 2026, in UTC."""
    return f"{at.day} {at:%b %Y}"

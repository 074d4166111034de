"""Whether a token is accepted, and the words for its state."""

from datetime import datetime

from newsletter_site.models.api_token import ApiToken


def is_accepted(token: ApiToken, now: datetime) -> bool:
    """Whether calls with the token are accepted at `now`, the database's time."""
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def describe_state(token: ApiToken, now: datetime) -> str:
    """Return such as `used 9 Oct 2026, until 1 Jan 2027`. Days are in UTC."""
    if token.revoked_at is not None:
        return f"revoked {_day(token.revoked_at)}"
    if token.expires_at is not None and token.expires_at <= now:
        return f"expired {_day(token.expires_at)}"
    used = f"used {_day(token.last_used_at)}" if token.last_used_at else "never used"
    until = f"until {_day(token.expires_at)}" if token.expires_at else "without an end"
    return f"{used}, {until}"


def _day(at: datetime) -> str:
    return f"{at.day} {at:%b %Y}"

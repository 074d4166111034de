"""A scheduled time as its author entered it: a local time in a named zone. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime

LOCAL = "%Y-%m-%dT%H:%M"


@dataclass(frozen=True, slots=True)
class ScheduledTime:
    """`utc`, given as `local`, such as 2026-10-25T07:30, in `zone`. New zone rules keep it."""

    utc: datetime
    local: str
    zone: str

    @property
    def words(self) -> str:
        """Thu 24 Sep 2026, 07:00 Europe/Lisbon (06:00 UTC)."""
        said = datetime.fromisoformat(self.local)
        utc = self.utc.astimezone(UTC)
        if self.zone == "UTC":
            return f"{day_and_time(said)} UTC"
        # The day is said again only where it is another one.
        same_day = utc.date() == said.date()
        there = f"{utc:%H:%M}" if same_day else f"{utc:%a} {utc.day} {utc:%b}, {utc:%H:%M}"
        return f"{day_and_time(said)} {self.zone} ({there} UTC)"


def day_and_time(at: datetime) -> str:
    """Thu 24 Sep 2026, 07:00."""
    return f"{at:%a} {at.day} {at:%b} {at.year}, {at:%H:%M}"

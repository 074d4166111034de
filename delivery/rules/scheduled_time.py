"""A scheduled time as its author entered it: a local time in a named zone."""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.formats import date_format
from django.utils.translation import gettext as _

LOCAL = "%Y-%m-%dT%H:%M"


@dataclass(frozen=True, slots=True)
class ScheduledTime:
    """The time `utc`, entered by its author as `local` (2026-10-25T07:30) in `zone`.

    A later change of the zone's rules does not change `utc`.
    """

    utc: datetime
    local: str
    zone: str

    @property
    def words(self) -> str:
        """Write the time in both zones: Thu 24 Sep 2026, 07:00 Europe/Lisbon (06:00 UTC)."""
        local = datetime.fromisoformat(self.local)
        utc = self.utc.astimezone(UTC)
        if self.zone == "UTC":
            return f"{day_and_time(local)} UTC"
        is_same_day = utc.date() == local.date()
        in_utc = date_format(utc, "H:i" if is_same_day else _("D j M, H:i"))
        return f"{day_and_time(local)} {self.zone} ({in_utc} UTC)"


def day_and_time(at: datetime) -> str:
    """Write a day and time in the active language: Thu 24 Sep 2026, 07:00."""
    return date_format(at, _("D j M Y, H:i"))

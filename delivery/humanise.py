"""Numbers, times and durations as pages, mails and commands write them."""

from datetime import datetime, tzinfo

from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext


def digits(number: int) -> str:
    """Write a number with the separators of the active language: 52,418."""
    return number_format(number, force_grouping=True)


class Count(int):
    """A number that selects a plural form and is shown with thousands separators."""

    def __format__(self, spec: str) -> str:
        return digits(self)


def counted(singular: str, plural: str, number: int, **more: object) -> str:
    """Write a sentence with a number as `{n}`, in the plural form for this number."""
    return ngettext(singular, plural, number).format(n=digits(number), **more)


def quoted(text: str) -> str:
    """Put a text in the quotation marks of the active language."""
    return _("“{text}”").format(text=text)


def duration(seconds: float) -> str:
    """Write a duration in its fitting unit: 1 second, 40 minutes, 3 hours, 2 days."""
    if seconds < 90:
        number = round(seconds)
        words = ngettext("{n} second", "{n} seconds", number)
    elif seconds < 90 * 60:
        number = round(seconds / 60)
        words = ngettext("{n} minute", "{n} minutes", number)
    elif seconds < 48 * 3600:
        number = round(seconds / 3600)
        words = ngettext("{n} hour", "{n} hours", number)
    else:
        number = round(seconds / 86_400)
        words = ngettext("{n} day", "{n} days", number)
    return words.format(n=digits(number))


def late_duration(late_s: float) -> str:
    """Write how late something started; empty within the first minute."""
    return duration(late_s) if late_s >= 60 else ""


def clock(at: datetime, zone: tzinfo) -> str:
    """Write a time of day in a zone, to the second: 07:30:12."""
    return f"{at.astimezone(zone):%H:%M:%S}"


def clock_and_day(at: datetime, day: datetime, zone: tzinfo) -> str:
    """Write 07:30:12, or Thu 24 Sep 2026, 07:30:12 on another day than `day`."""
    local = at.astimezone(zone)
    is_that_day = local.date() == day.astimezone(zone).date()
    return date_format(local, "H:i:s" if is_that_day else _("D j M Y, H:i:s"))


KB = 1024


def kilobytes(size: int) -> int:
    """Convert bytes to kB, rounded up."""
    return -(-size // KB)

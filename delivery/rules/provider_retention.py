"""How long the provider keeps records, and how long we keep data for look-ups."""

from django.conf import settings

# A margin for differing clocks, days that begin at another hour, and operators on holiday.
MARGIN_DAYS = 7


def provider_retention_days() -> int:
    """Return after how many days the provider certainly has no record of a message."""
    return int(settings.POSTMARK_RETENTION_DAYS) + MARGIN_DAYS


def details_retention_days() -> int:
    """Return the days that details are kept: DETAILS_KEEP_DAYS, or longer if needed."""
    return max(int(settings.DETAILS_KEEP_DAYS), provider_retention_days())

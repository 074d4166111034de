"""How long the provider remembers, and how long we keep what a look-up may need."""

from django.conf import settings

# Clocks differ, days begin elsewhere, and somebody comes back from a holiday.
MARGIN_DAYS = 7


def provider_retention_days() -> int:
    """Days after which the provider surely cannot be asked any more."""
    return int(settings.POSTMARK_RETENTION_DAYS) + MARGIN_DAYS


def details_retention_days() -> int:
    """Days that the details of sending are kept: DETAILS_KEEP_DAYS, or longer if need be."""
    return max(int(settings.DETAILS_KEEP_DAYS), provider_retention_days())

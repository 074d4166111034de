"""Estimate how long it takes to send an edition, from the last editions."""

from django.conf import settings
from django.db.models import Max, Min, Sum
from django.utils.translation import gettext as _

from delivery.humanise import duration
from delivery.models import Attempt, Edition
from delivery.models.attempt import NO_BATCH

# Only the last few editions count, because older editions say little about the current rate.
_SAMPLED_EDITIONS = 3
# Ignore smaller or faster editions, because they do not show how fast a large edition is sent.
_MIN_SECONDS = 5.0
_MIN_COPIES = 200


def estimate_duration(
    readers: int, earlier: list[tuple[int, float]], rate_per_s: float | None = None
) -> str:
    """Return a duration such as “about 19 minutes”.

    `earlier` has pairs: the number of copies of an earlier edition, and the seconds that sending
    them took. `rate_per_s` is the rate limit of the workers, if any. The result is empty if no
    earlier edition was large enough and there is no rate limit.
    """
    samples = [one for one in earlier if one[0] >= _MIN_COPIES and one[1] >= _MIN_SECONDS]
    if not (samples or rate_per_s) or not readers:
        return ""
    copies, times = (sum(each) for each in zip(*samples, strict=True)) if samples else (1, 0.0)
    seconds = max(readers * times / copies, readers / rate_per_s if rate_per_s else 0.0)
    if seconds < 45:
        return _("less than a minute")
    if seconds < 90:
        return _("about 1 minute")
    return _("about {duration}").format(duration=duration(seconds))


def time_to_send(readers: int) -> str:
    """Return how long sending to this many readers takes; empty if that is unknown."""
    return estimate_duration(readers, _load_samples(), settings.DELIVERY_RATE_PER_S)


def _load_samples() -> list[tuple[int, float]]:
    """Return pairs for the last editions: number of copies, and seconds of sending."""
    ended = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER, audience__gt=0)
    newest = list(ended.order_by("-published_at").values_list("pk", flat=True)[:_SAMPLED_EDITIONS])
    calls = (
        Attempt.objects.filter(edition__in=newest, accepted__gt=0, finished_at__isnull=False)
        .exclude(batch_id=NO_BATCH)
        .order_by()
        .values("edition")
        .annotate(copies=Sum("accepted"), began=Min("started_at"), ended=Max("finished_at"))
    )
    return [(call["copies"], (call["ended"] - call["began"]).total_seconds()) for call in calls]

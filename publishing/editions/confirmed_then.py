"""Issues that were mailed, each with the number of confirmed readers at that time."""

from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import Coalesce

from delivery.models import Edition
from publishing.editions.versions import started_editions


def mailed_editions() -> QuerySet[Edition]:
    """Return the mailed editions that were not cancelled before the first copy."""
    return started_editions().exclude(goes_to=Edition.GoesTo.NOBODY)


def mailed_issues() -> QuerySet[Any]:
    """Return the first mailed version of each issue, with `confirmed_then`.

    The newest is first. `confirmed_then` counts all confirmed readers of that time, also those who
    did not get the issue. It is None if nobody counted them.
    """
    mailed = mailed_editions()
    earlier = mailed.filter(issue=OuterRef("issue"), version__lt=OuterRef("version"))
    # Releases before this column counted only the audience.
    is_everyone = Q(goes_to=Edition.GoesTo.EVERYONE, with_tags=[], without_tags=[])
    counted = Coalesce(F("confirmed_readers"), Case(When(is_everyone, then=F("audience"))))
    return (
        mailed.filter(~Exists(earlier))
        .annotate(confirmed_then=counted)
        .order_by("-published_at", "-pk")
    )

"""
What was published: the only place that says which editions everybody may read.

An edition is in the archive once its hold is over, unless it was cancelled: until then it can
still be called back, and nobody should have read it. Of an issue the newest such edition counts.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from delivery.models import Edition


def published_editions() -> QuerySet[Edition]:
    """The newest public edition of every newsletter issue, newest first, with its issue."""
    public = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER, held_until__lte=Now()).exclude(
        control=Edition.Control.CANCELLED
    )
    newer = public.filter(issue=OuterRef("issue"), version__gt=OuterRef("version"))
    return (
        public.filter(~Exists(newer))
        .select_related("issue", "author")
        .order_by("-published_at", "-pk")
    )

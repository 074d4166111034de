"""
What was published: the only place that says which editions everybody may read.

An edition is in the archive once its hold is over: until then it can still be called back, and
nobody should have read it. One that was cancelled stays there if it reached somebody, whose mail
names the address; if it reached nobody it is never shown. Of an issue the newest of these counts.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Now

from delivery.models import Batch, Edition
from publishing.versions import corrects

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations


class OnTheShelf(TypedDict):
    """What the archive knows of an edition beside its own columns."""

    first_public_at: datetime
    corrects: bool


def published_editions() -> QuerySet[WithAnnotations[Edition, OnTheShelf]]:
    """
    The newest public edition of every newsletter issue, with its issue, the newest letter first.

    Each has `first_public_at`, when the letter was first published: a correction does not move it
    to the top of the shelf. And `corrects`: whether it is a correction.
    """
    public = public_editions()
    same_issue = public.filter(issue=OuterRef("issue"))
    first = same_issue.order_by("version").values("published_at")[:1]
    return (
        public.filter(~Exists(same_issue.filter(version__gt=OuterRef("version"))))
        .annotate(first_public_at=Subquery(first), corrects=corrects())
        .select_related("issue", "author")
        .order_by("-first_public_at", "-pk")
    )


def public_editions() -> QuerySet[Edition]:
    """Every edition that everybody may read, older versions among them."""
    reached = Batch.objects.filter(edition=OuterRef("pk"), sent__gt=0)
    return Edition.objects.filter(
        ~Q(control=Edition.Control.CANCELLED) | Exists(reached),
        kind=Edition.Kind.NEWSLETTER,
        held_until__lte=Now(),
    )

"""
What was published: the only place that says which editions everybody may read.

An edition is in the archive once its hold is over: until then it can still be called back, and
nobody should have read it. A scheduled one is not there before it has started. One that was
cancelled stays there if it reached somebody, whose mail names the address; if it reached nobody it
is never shown. Of an issue the newest of these counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Greatest, Left, Lower, Now, StrIndex, Substr

from delivery.models import Batch, Edition
from publishing.content.edition_content import Content
from publishing.content.summary import summarise
from publishing.editions.status import LARGE_COLUMNS
from publishing.editions.versions import is_correction

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

# What a summary is made from; whole bodies may have a million characters each.
BEGINNING = 8000


class OnTheShelf(TypedDict):
    """What the archive knows of an edition beside its own columns."""

    first_public_at: datetime
    is_correction: bool


@dataclass(frozen=True, slots=True)
class Letter:
    """One letter as a list shows it."""

    title: str
    summary: str
    slug: str
    published_at: datetime
    """When it was first published; a correction does not change that."""
    corrected_at: datetime | None


def latest_letters(most: int) -> list[Letter]:
    """The latest letters that everybody may read, at most so many, the newest first."""
    return letters_of(listed_editions(), 0, most)


def letters_of(
    editions: QuerySet[WithAnnotations[Edition, OnTheShelf]], start: int, stop: int
) -> list[Letter]:
    """Some of the editions of `listed_editions()` as a list shows them, in one query."""
    body = Greatest(StrIndex(Lower("html_content"), Value("<body")), Value(1))
    found = editions.defer(*LARGE_COLUMNS).annotate(
        html_beginning=Substr("html_content", body, BEGINNING),
        text_beginning=Left("text_content", BEGINNING),
    )
    return list(_letters(found[start:stop]))


def _letters(editions: Iterable[Edition]) -> Iterable[Letter]:
    for edition in editions:
        facts = vars(edition)
        yield Letter(
            title=Content(edition.title, "", "").plain_title,
            summary=summarise(facts["html_beginning"], facts["text_beginning"], edition.preheader),
            slug=edition.issue.slug,
            published_at=facts["first_public_at"],
            corrected_at=edition.published_at if facts["is_correction"] else None,
        )


def listed_editions() -> QuerySet[WithAnnotations[Edition, OnTheShelf]]:
    """Of `published_editions()` those that lists, the feed and other letters lead to."""
    return published_editions().filter(issue__unlisted=False)


def published_editions() -> QuerySet[WithAnnotations[Edition, OnTheShelf]]:
    """
    The newest public edition of every newsletter issue, with its issue, the newest letter first.

    Each has `first_public_at`, when the letter was first published: a correction does not move it
    to the top of the shelf. And `is_correction`: whether it is a correction.
    """
    public = public_editions()
    same_issue = public.filter(issue=OuterRef("issue"))
    first = same_issue.order_by("version").values("published_at")[:1]
    return (
        public.filter(~Exists(same_issue.filter(version__gt=OuterRef("version"))))
        .annotate(first_public_at=Subquery(first), is_correction=is_correction())
        .select_related("issue", "author")
        .order_by("-first_public_at", "-pk")
    )


def public_editions() -> QuerySet[Edition]:
    """Every edition that everybody may read, older versions among them."""
    reached = Batch.objects.filter(edition=OuterRef("pk"), sent__gt=0)
    return Edition.objects.filter(
        ~Q(control=Edition.Control.CANCELLED) | Exists(reached),
        # One whose time has come is public once a worker has started it.
        ~Q(control=Edition.Control.SCHEDULED),
        kind=Edition.Kind.NEWSLETTER,
        held_until__lte=Now(),
    )

"""Load the editions for the lists and pages of the public archive."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Greatest, Left, Lower, StrIndex, Substr

from publishing.archive.shown_images import shown_images
from publishing.content.edition_content import plain_title
from publishing.content.letter_images import FoundImage, first_image
from publishing.content.summary import own_summary, sanitise_without_values, summarise_sanitised
from publishing.editions.edition_status import LARGE_COLUMNS
from publishing.editions.versions import is_correction, public_editions

# A number of characters. A body can have a million characters, but its summary and its first image
# are in the beginning.
BEGINNING = 8000


def latest_issues(limit: int) -> list[dict[str, Any]]:
    """Return the latest listed issues, newest first."""
    return listed_issues_of(listed_editions(), 0, limit)


def listed_issues_of(editions: QuerySet[Any], start: int, stop: int) -> list[dict[str, Any]]:
    """Load a slice of `editions` as the rows of a list, in at most two queries."""
    body = Greatest(StrIndex(Lower("html_content"), Value("<body")), Value(1))
    found = editions.defer(*LARGE_COLUMNS).annotate(
        html_beginning=Substr("html_content", body, BEGINNING),
        text_beginning=Left("text_content", BEGINNING),
    )
    slice_of_editions = list(found[start:stop])
    beginnings = list(map(_beginning, slice_of_editions))
    images = shown_images([image for _summary, image in beginnings])
    return [
        {
            "title": plain_title(edition),
            "summary": summary,
            "image": image,
            "slug": edition.issue.slug,
            # A correction keeps the date of the first version.
            "published_at": edition.first_public_at,
            "corrected_at": edition.corrected_at,
        }
        for edition, (summary, _found), image in zip(
            slice_of_editions, beginnings, images, strict=True
        )
    ]


def _beginning(edition: Any) -> tuple[str, FoundImage | None]:
    """Return the summary and the first image of an edition with `html_beginning`."""
    summary, html = own_summary(edition.preview_text), edition.html_beginning
    # Sanitising is the slow part, so it is skipped if the summary and the image do not need it.
    clean = sanitise_without_values(html) if not summary or "<img" in html.lower() else ""
    return summary or summarise_sanitised(clean, edition.text_beginning), first_image(clean)


def neighbours(edition: Any) -> tuple[Any, Any]:
    """Return the listed editions before and after a listed edition, or None."""
    others = listed_editions().defer(*LARGE_COLUMNS)
    time = edition.first_public_at
    # As in the list, the key decides between equal times. Imported letters may have the same day.
    at_once = others.filter(first_public_at=time)
    earlier = others.filter(first_public_at__lt=time) | at_once.filter(pk__lt=edition.pk)
    later = others.filter(first_public_at__gt=time) | at_once.filter(pk__gt=edition.pk)
    return earlier.first(), later.last()


def listed_editions() -> QuerySet[Any]:
    """Return the `published_editions()` of all issues that are not unlisted."""
    return published_editions().filter(issue__unlisted=False)


def published_editions() -> QuerySet[Any]:
    """Return each issue's newest public edition, if the issue has a page.

    `first_public_at` is the time of the issue's first version. `corrected_at` is the time of the
    last correction that readers see a note about. `updated_at` is the later of `first_public_at`
    and `corrected_at`.
    """
    public = public_editions()
    same_issue = public.filter(issue=OuterRef("issue"))
    first = same_issue.order_by("version").values("published_at")[:1]
    before = public.filter(issue=OuterRef("issue"), version__lt=OuterRef("version"))
    # A version that only sends the same letter to the remaining readers is no correction.
    same_letter = Subquery(before.order_by("-version").values("content_hash")[:1])
    changed = same_issue.filter(without_note=False).exclude(content_hash=same_letter)
    updated = changed.order_by("-version").values("published_at")
    return (
        public.filter(~Exists(same_issue.filter(version__gt=OuterRef("version"))))
        .filter(Q(issue__has_page=True) | Q(issue__unlisted=False))
        .annotate(
            first_public_at=Subquery(first),
            corrected_at=Subquery(updated.filter(is_correction())[:1]),
            updated_at=Coalesce(Subquery(updated[:1]), Subquery(first)),
        )
        .select_related("issue", "author")
        .order_by("-first_public_at", "-pk")
    )

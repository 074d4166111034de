"""The list of issues, newest first, each with the state of its newest edition."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from delivery.models import Edition
from delivery.reports.edition_counts import load_all_counts
from delivery.rules.edition_counts import EditionCounts
from publishing.content.edition_content import plain_title
from publishing.editions.status import LARGE_COLUMNS, EditionStatus, status_from_counts
from publishing.editions.versions import is_correction
from publishing.progress.edition_progress import EditionProgress
from publishing.progress.progress_sentences import how_far


@dataclass(frozen=True, slots=True)
class IssueRow:
    """An issue, or a version of it, in a list."""

    edition: Edition
    title: str
    status: EditionStatus
    progress: EditionProgress
    how_far: str


def newest_editions(*, without: QuerySet[Edition] | None = None) -> QuerySet[Edition]:
    """Return the newest edition of each newsletter issue, newest first.

    Those of `without` are left out, and an earlier version takes their place."""
    editions = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER)
    if without is not None:
        editions = editions.exclude(pk__in=without.values("pk"))
    newer = editions.filter(issue=OuterRef("issue"), version__gt=OuterRef("version"))
    return (
        editions.filter(~Exists(newer))
        .annotate(is_correction=is_correction())
        .select_related("author", "issue")
        .defer(*LARGE_COLUMNS)
        .order_by("-published_at", "-pk")
    )


def newest_before(before: int | None, *, limit: int) -> tuple[list[Edition], int | None]:
    """Return a page of issues after `before`, and the next `before` or None."""
    editions = newest_editions()
    if before is not None:
        editions = older_than(before, editions)
    found = list(editions[: limit + 1])
    return found[:limit], found[limit - 1].pk if len(found) > limit else None


def older_than(edition: int, editions: QuerySet[Edition]) -> QuerySet[Edition]:
    """Return the editions that follow this one in a list with the newest first."""
    at = Edition.objects.filter(pk=edition).values("published_at")[:1]
    return editions.filter(Q(published_at__lt=at) | Q(published_at=at, pk__lt=edition))


def rows_of(
    editions: Iterable[Edition], counts: Mapping[int, EditionCounts] | None = None
) -> list[IssueRow]:
    """Return rows in the same order.

    One query reads all counts, unless they are given.
    """
    wanted = list(editions)
    if counts is None:
        counts = {read.edition: read for read in load_all_counts([one.pk for one in wanted])}
    statuses = [status_from_counts(counts[one.pk]) for one in wanted]
    return [
        IssueRow(one, plain_title(one), status, EditionProgress(status), how_far(status))
        for one, status in zip(wanted, statuses, strict=True)
    ]

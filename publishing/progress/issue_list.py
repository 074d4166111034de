"""The list of issues, newest first, each with the state of its newest edition."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from delivery.models import Edition
from delivery.reports.load_edition_counts import load_all_counts
from delivery.rules.edition_counts import EditionCounts
from publishing.content.edition_content import plain_title
from publishing.editions.edition_status import LARGE_COLUMNS, EditionStatus, status_from_counts
from publishing.editions.versions import is_correction, mailed_editions, started_editions
from publishing.progress.edition_progress import EditionProgress
from publishing.progress.progress_sentences import how_far


@dataclass(frozen=True, slots=True)
class IssueRow:
    """The row of an issue, or of one version of an issue, in a list.

    `edition` is the newest edition. If this edition was sent to nobody, `status` is the status of
    the last mailed version. An edition is sent to nobody if it corrects only the page, or was
    called back. A scheduled correction does not count as the newest edition until it starts.
    """

    edition: Edition
    title: str
    status: EditionStatus
    progress: EditionProgress
    how_far: str
    newest: EditionStatus

    @property
    def is_of_earlier(self) -> bool:
        """Whether the row shows the numbers of a version before the newest version."""
        return self.status.counts.version != self.newest.counts.version

    @property
    def page_corrected_at(self) -> datetime | None:
        """The time at which the newest version corrected only the page; otherwise None."""
        counts = self.newest.counts
        is_page = self.is_of_earlier and counts.goes_to == "nobody" and counts.has_started
        return counts.published_at if is_page else None


def newest_editions(*, without: QuerySet[Edition] | None = None) -> QuerySet[Edition]:
    """Return the newest edition of each newsletter issue, newest first.

    Leaves out scheduled corrections and the editions in `without`; an earlier version takes their
    place. Each edition gets `next_version`, the number of its issue's scheduled version, or None.
    """
    editions = Edition.objects.filter(kind=Edition.Kind.NEWSLETTER)
    started = started_editions().filter(issue=OuterRef("issue"), version__lt=OuterRef("version"))
    # Scheduled versions of issues that have an earlier, started version.
    waiting = editions.filter(Exists(started), control=Edition.Control.SCHEDULED)
    editions = editions.exclude(pk__in=waiting.values("pk"))
    if without is not None:
        editions = editions.exclude(pk__in=without.values("pk"))
    following = waiting.filter(issue=OuterRef("issue"), version__gt=OuterRef("version"))
    earlier = mailed_editions().filter(issue=OuterRef("issue"), version__lt=OuterRef("version"))
    newer = editions.filter(issue=OuterRef("issue"), version__gt=OuterRef("version"))
    return (
        editions.filter(~Exists(newer))
        .annotate(
            is_correction=is_correction(),
            mailed_before=Subquery(earlier.order_by("-version").values("pk")[:1]),
            next_version=Subquery(following.values("version")[:1]),
        )
        .select_related("author", "issue")
        .defer(*LARGE_COLUMNS)
        .order_by("-published_at", "-pk")
    )


def newest_before(before: int | None, *, limit: int) -> tuple[list[Edition], int | None]:
    """Return a page of issues older than `before`, and the next page's `before`.

    The second value is None on the last page.
    """
    editions = newest_editions()
    if before is not None:
        at = Edition.objects.filter(pk=before).values("published_at")[:1]
        editions = editions.filter(Q(published_at__lt=at) | Q(published_at=at, pk__lt=before))
    found = list(editions[: limit + 1])
    return found[:limit], found[limit - 1].pk if len(found) > limit else None


def rows_of(
    editions: Iterable[Edition], counts: Mapping[int, EditionCounts] | None = None
) -> list[IssueRow]:
    """Return a row for each edition, in the same order.

    Without `counts`, one query reads the counts of all editions.
    """
    wanted = list(editions)
    if counts is None:
        counts = {read.edition: read for read in load_all_counts(shown_in(wanted))}
    return [_row(one, counts) for one in wanted]


def shown_in(editions: Iterable[Edition]) -> list[int]:
    """Return the ids of all editions whose counts the rows of `editions` need."""
    return [pk for one in editions for pk in (one.pk, _mailed_before(one)) if pk is not None]


def hides_a_send(counts: EditionCounts) -> bool:
    """Whether a version was sent to nobody, so an earlier version's numbers are shown."""
    return counts.control != "scheduled" and (counts.goes_to == "nobody" or counts.is_called_back)


def _mailed_before(edition: Edition) -> int | None:
    """Return the id of the last mailed version before this one; None if not loaded."""
    return getattr(edition, "mailed_before", None)


def _row(edition: Edition, counts: Mapping[int, EditionCounts]) -> IssueRow:
    newest = status = status_from_counts(counts[edition.pk])
    mailed = _mailed_before(edition)
    if mailed is not None and hides_a_send(newest.counts):
        status = status_from_counts(counts[mailed])
    progress = EditionProgress(status)
    return IssueRow(edition, plain_title(edition), status, progress, how_far(status), newest)

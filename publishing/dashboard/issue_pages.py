"""Load pages of drafts, scheduled issues and published issues.

Each page starts after the last row of the previous page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce, Lower
from django.utils.translation import gettext_lazy as _

from delivery.models import Batch, Edition
from publishing.activity.activity_log import parse_id
from publishing.editions.edition_status import LARGE_COLUMNS
from publishing.editions.versions import mailed_editions
from publishing.models import Draft
from publishing.progress.issue_list import newest_editions

Titled = TypeVar("Titled", Draft, Edition)

PAGE = 12
# The number of drafts above the list of issues. A separate tab lists all drafts.
DRAFTS_BESIDE = 3
LONGEST_SEARCH = 200
# Load only the columns that a row shows, because loading even a short column takes time.
_SHOWN_COLUMNS = (
    *("version", "title", "goes_to", "published_at", "issue__unlisted"),
    "issue__has_page",
    "issue__moved_from",
    *("author__username", "author__first_name", "author__last_name"),
)


# If the newest version corrects only the page, the issue's row shows the last mailed version.
_MAILED_BEFORE = mailed_editions().filter(issue=OuterRef("issue"), version__lt=OuterRef("version"))
_SHOWN_AT = Case(
    When(
        goes_to=Edition.GoesTo.NOBODY,
        then=Coalesce(
            Subquery(_MAILED_BEFORE.order_by("-version").values("published_at")[:1]),
            F("published_at"),
        ),
    ),
    default=F("published_at"),
)


class Sort(models.TextChoices):
    """The orders in which the desk can sort drafts and issues."""

    NEWEST = "newest", _("Newest first")
    OLDEST = "oldest", _("Oldest first")
    TITLE = "title", _("Title")


class Tab(models.TextChoices):
    """The tabs of the list of issues."""

    ALL = "all", _("All")
    DRAFTS = "drafts", _("Drafts")
    SCHEDULED = "scheduled", _("Scheduled")
    GOING_OUT = "going-out", _("In progress")
    ENDED = "ended", _("Ended")


@dataclass(frozen=True, slots=True)
class IssueSearch:
    """The search in a URL's query: tab, part of a title, last row seen, and order."""

    tab: Tab = Tab.ALL
    text: str = ""
    before: str = ""
    sort: Sort = Sort.NEWEST

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> IssueSearch:
        """Read a search from a query; drop NULs, because PostgreSQL does not accept them."""
        show, sort = query.get("show", ""), query.get("sort", "")
        text, before = query.get("q", ""), query.get("before", "")
        tab = Tab(show) if show in Tab.values else Tab.ALL
        order = Sort(sort) if sort in Sort.values else Sort.NEWEST
        return cls(tab, text.replace("\0", "").strip()[:LONGEST_SEARCH], before[:40], order)


@dataclass(slots=True)
class IssuePage:
    """The rows of one page; `next` is the id of its last row, empty on the last page.

    `all_scheduled` are all scheduled editions, whatever the search; the edition that is due next is
    first.
    """

    drafts: Sequence[Draft] = ()
    more_drafts: bool = False
    scheduled: Sequence[Edition] = ()
    all_scheduled: Sequence[Edition] = ()
    editions: Sequence[Edition] = ()
    next: str = ""


def page_of(search: IssueSearch, open_editions: Sequence[int], *, sees_drafts: bool) -> IssuePage:
    """Load a page with at most four queries.

    `open_editions` are the ids of the editions that have not ended.
    """
    tab, is_first = search.tab, not search.before
    # Load all scheduled editions: there are few, because an edition cannot be scheduled more than a
    # year ahead.
    page = IssuePage(all_scheduled=list(_scheduled()))
    if sees_drafts and tab is Tab.DRAFTS:
        found = list(_drafts(search)[: PAGE + 1])
        page.drafts, page.next = found[:PAGE], _after(found)
    elif sees_drafts and tab is Tab.ALL and is_first:
        found = list(_drafts(search)[: DRAFTS_BESIDE + 1])
        page.drafts, page.more_drafts = found[:DRAFTS_BESIDE], len(found) > DRAFTS_BESIDE
    if tab is Tab.SCHEDULED or (tab is Tab.ALL and is_first):
        page.scheduled = page.all_scheduled
        if search.text or search.sort is not Sort.NEWEST:
            coming = _titled(_scheduled(), search.text)
            # By default, the edition that is due next is first. With the order “Oldest first”, the
            # edition that was scheduled longest ago is first.
            if search.sort is not Sort.NEWEST:
                coming = _in_order(coming, search.sort, F("published_at"), None)
            page.scheduled = list(coming)
    if tab in (Tab.ALL, Tab.GOING_OUT, Tab.ENDED):
        rows = _published(search, open_editions, sees_drafts=sees_drafts)
        published = list(rows[: PAGE + 1])
        page.editions, page.next = published[:PAGE], _after(published)
    return page


def upcoming(scheduled: Sequence[Edition], now: datetime) -> list[Edition]:
    """Return the editions that will be sent automatically, at a time after `now`."""
    return [
        edition
        for edition in scheduled
        if edition.unreconciled_since is None
        and edition.scheduled_for is not None
        and edition.scheduled_for > now
    ]


def is_any_published() -> bool:
    """Return whether any issue has been published."""
    return newest_editions().exclude(control=Edition.Control.SCHEDULED).exists()


def open_drafts() -> QuerySet[Draft]:
    """Return the drafts that are not published yet; the draft saved last is first."""
    drafts = Draft.objects.filter(edition=None).select_related("saved_by")
    return drafts.order_by("-saved_at", "-pk")


def _after(found: Sequence[Draft | Edition]) -> str:
    return str(found[PAGE - 1].pk) if len(found) > PAGE else ""


def _drafts(search: IssueSearch) -> QuerySet[Draft]:
    stopped = _reopened().filter(issue=OuterRef("issue"))
    last_stopped = stopped.order_by("-version").values("version")[:1]
    drafts = open_drafts().annotate(stopped_version=Subquery(last_stopped))
    if search.text:
        is_titled = Q(title__icontains=search.text)
        drafts = drafts.filter(is_titled | Exists(stopped.filter(is_titled)))
    # If the last draft of the previous page was saved again meanwhile, this page starts after that
    # draft's new position.
    return _in_order(drafts, search.sort, F("saved_at"), parse_id(search.before))


def _reopened() -> QuerySet[Edition]:
    """Select cancelled versions that reached nobody and whose issue is a draft again."""
    cancelled = Edition.Control.CANCELLED
    reached = Q(sent__gt=0) | Q(unknown__gt=0) | Q(waiting__gt=0)
    later = Edition.objects.filter(issue=OuterRef("issue"), version__gt=OuterRef("version"))
    return Edition.objects.filter(
        ~Exists(Batch.objects.filter(reached, edition=OuterRef("pk"))),
        ~Exists(later.exclude(control=cancelled)),
        Exists(Draft.objects.filter(issue=OuterRef("issue"), edition=None)),
        kind=Edition.Kind.NEWSLETTER,
        control=cancelled,
    )


def _scheduled() -> QuerySet[Edition]:
    # A scheduled version is always the newest version of its issue, because it blocks the next
    # version.
    editions = Edition.objects.filter(
        kind=Edition.Kind.NEWSLETTER, control=Edition.Control.SCHEDULED
    )
    return editions.defer(*LARGE_COLUMNS).order_by("scheduled_for", "pk")


def _published(
    search: IssueSearch, open_editions: Sequence[int], *, sees_drafts: bool
) -> QuerySet[Edition]:
    found = newest_editions(without=_reopened() if sees_drafts else None)
    editions = found.only(*_SHOWN_COLUMNS).exclude(control=Edition.Control.SCHEDULED)
    if search.tab is Tab.GOING_OUT:
        editions = editions.filter(pk__in=open_editions)
    elif search.tab is Tab.ENDED:
        editions = editions.exclude(pk__in=open_editions)
    editions = _titled(editions, search.text)
    before = search.before
    is_id = before.isdecimal() and len(before) < 19
    return _in_order(editions, search.sort, _SHOWN_AT, int(before) if is_id else None)


def _in_order(found: QuerySet[Titled], sort: Sort, time: F | Case, last: Any) -> QuerySet[Titled]:
    """Sort the rows by `time` or title; begin after the row with the id `last`."""
    key: F | Case | Lower = Lower("title") if sort is Sort.TITLE else time
    minus, then = ("-", "lt") if sort is Sort.NEWEST else ("", "gt")
    found = found.alias(sort_key=key)
    if last is not None:
        of_last = Subquery(found.model._base_manager.filter(pk=last).values_list(key)[:1])
        follows = Q(**{f"sort_key__{then}": of_last})
        found = found.filter(follows | Q(sort_key=of_last, **{f"pk__{then}": last}))
    return found.order_by(f"{minus}sort_key", f"{minus}pk")


def _titled(found: QuerySet[Titled], text: str) -> QuerySet[Titled]:
    return found.filter(title__icontains=text) if text else found

"""The readers below the progress page: by outcome, or by address."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest

from delivery.models import Delivery, Edition
from delivery.rules.edition_counts import EditionCounts
from publishing.editions.status import EditionStatus
from publishing.permissions import TAKE_READERS_AWAY
from publishing.progress.edition_progress import OUTCOME_TONES
from publishing.progress.outcome_sentences import address_of, when_of, why_of
from publishing.progress.reader_outcomes import (
    ALL,
    FIRST_FEW,
    LISTS,
    MISSED,
    PAGE,
    CopiesDroppedError,
    FoundReader,
    found_readers,
    outcome_page,
    parse_cursor,
)
from publishing.progress_bar import ORDER
from subscribers.desk.reader_list import LONGEST_SEARCH
from subscribers.permissions import MANAGE

# Listed by default: readers whose copy was not simply sent.
LISTED_UNASKED = ("failed", "unknown", "suppressed", "withdrawn")


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """One reader: the outcome of their copy, when, and why. `reader` leads to their own page."""

    address: str
    outcome: str
    tone: str
    at: datetime | None
    why: str
    reader: int | None


def chosen_list(request: HttpRequest, edition: Edition, counts: EditionCounts) -> dict[str, Any]:
    """Which list an address asks for, and the tabs of all lists, without reading the list."""
    takes_away = any(map(request.user.has_perm, TAKE_READERS_AWAY))
    by_outcome = {
        ALL: counts.audience,
        **{name: getattr(counts, name) for name in (*ORDER, MISSED)},
    }
    outcome, most = request.GET.get("outcome", ""), PAGE
    if outcome not in LISTS:
        most = FIRST_FEW
        outcome = next((name for name in LISTED_UNASKED if by_outcome[name]), ALL)
    text = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST_SEARCH]
    return {
        "outcome": outcome,
        "most": most,
        "tabs": [
            (name, by_outcome[name])
            for name in LISTS
            if name != MISSED or by_outcome[MISSED] or outcome == MISSED
        ],
        "count": by_outcome[outcome],
        "missed": counts.missed,
        "takes_away": takes_away,
        "is_ours": not counts.is_transactional,
        "text": text if takes_away else "",
        "here": urlencode({"version": edition.version, "outcome": outcome}),
    }


def listed_readers(
    request: HttpRequest, edition: Edition, status: EditionStatus, zone: ZoneInfo
) -> dict[str, Any]:
    """The list that an address asks for, for its template."""
    context = chosen_list(request, edition, status.counts)
    clock = _clock_beside(edition.published_at, zone)
    why = partial(why_of, clock=clock, held_until=status.held_until)
    manages = request.user.has_perm(MANAGE)
    after = parse_cursor(request.GET.get("after", ""))
    try:
        if context["text"]:
            found, more = found_readers(edition.issue_id, edition.version, context["text"])
            rows = [_found_row(one, why, clock, manages) for one in found]
            return {**context, "rows": rows, "more_found": more}
        page = outcome_page(edition.pk, context["outcome"], after, most=context["most"])
    except CopiesDroppedError as gone:
        return {**context, "rows": [], "text": "", "dropped": str(gone)}
    rows = [_row(copy, why, manages) for copy in page.copies]
    return {**context, "rows": rows, "paged": after is not None, "after": page.after}


def _row(copy: Delivery, why: Callable[[Delivery], str], manages: bool) -> ReaderRow:
    return ReaderRow(
        address_of(copy),
        copy.outcome,
        OUTCOME_TONES[copy.outcome],
        when_of(copy),
        why(copy),
        copy.recipient_id if manages and copy.address else None,
    )


def _found_row(
    found: FoundReader,
    why: Callable[[Delivery], str],
    clock: Callable[[datetime], str],
    manages: bool,
) -> ReaderRow:
    reader = found.reader
    if found.copy is not None:
        return _row(found.copy, why, manages)
    return ReaderRow(
        reader.email,
        "",
        "calm",
        None,
        f"not in the audience of this version; {reader.state} since {clock(reader.since)}",
        reader.pk if manages else None,
    )


def _clock_beside(day: datetime, zone: ZoneInfo) -> Callable[[datetime], str]:
    """A clock that adds the date, unless it is the day of publishing."""
    that_day = day.astimezone(zone).date()

    def clock(at: datetime) -> str:
        there = at.astimezone(zone)
        return f"{there:%H:%M:%S}" if there.date() == that_day else f"{there:%d %b %Y, %H:%M:%S}"

    return clock

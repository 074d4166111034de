"""The list of readers on the progress page, by outcome or by address."""

from functools import partial
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils.translation import gettext as _

from delivery.humanise import clock_and_day
from delivery.models import Delivery, Edition
from delivery.rules.edition_counts import EditionCounts
from publishing.desk_access import sees_readers
from publishing.editions.edition_status import EditionStatus
from publishing.progress.edition_progress import OUTCOME_TONES, counts_of
from publishing.progress.outcome_sentences import address_of, when_of, why_of
from publishing.progress.reader_outcomes import (
    ALL,
    FIRST_FEW,
    LISTS,
    MISSED,
    PAGE,
    DeliveriesDroppedError,
    found_readers,
    outcome_page,
)
from publishing.progress_bar import outcome_label
from subscribers.data_requests.personal_data_sentences import STATES
from subscribers.desk.reader_filter import read_search
from subscribers.models import Subscriber
from subscribers.reader_permissions import MANAGE

# If no list is chosen, the page shows the first of these lists that is not empty.
LISTED_UNASKED = ("failed", "unknown", "suppressed", "withdrawn")


def chosen_list(request: HttpRequest, edition: Edition, counts: EditionCounts) -> dict[str, Any]:
    """Return the list that a URL asks for, without rows, and the tabs of all lists."""
    takes_away = sees_readers(request)
    by_outcome = {ALL: counts.audience, **counts_of(counts), MISSED: counts.missed}
    outcome, limit = request.GET.get("outcome", ""), PAGE
    if outcome not in LISTS:
        limit = FIRST_FEW
        outcome = next((name for name in LISTED_UNASKED if by_outcome[name]), ALL)
    text = read_search(request.GET.get("q", ""))
    return {
        "outcome": outcome,
        "limit": limit,
        "label": outcome_label(outcome),
        "tabs": [
            (name, outcome_label(name), by_outcome[name])
            for name in LISTS
            if name != MISSED or by_outcome[MISSED] or outcome == MISSED
        ],
        "count": by_outcome[outcome],
        "missed": counts.missed,
        "takes_away": takes_away,
        "text": text if takes_away else "",
        "here": urlencode({"version": edition.version, "outcome": outcome}),
    }


def listed_readers(
    request: HttpRequest, edition: Edition, status: EditionStatus, zone: ZoneInfo
) -> dict[str, Any]:
    """Return the context of the list that a URL asks for, with its rows."""
    context = chosen_list(request, edition, status.counts)
    clock = partial(clock_and_day, day=edition.published_at, zone=zone)
    manages = request.user.has_perm(MANAGE)

    def row(delivery: Delivery) -> dict[str, Any]:
        at = when_of(delivery, status.counts.now)
        return {
            "address": address_of(delivery),
            "outcome": delivery.outcome,
            "label": outcome_label(delivery.outcome),
            "tone": OUTCOME_TONES[delivery.outcome],
            "at": clock(at) if at else "",
            "why": why_of(delivery, clock, held_until=status.held_until),
            # The reader's id, for a link to the page of this reader.
            "reader": delivery.recipient_id if manages and delivery.address else None,
        }

    def not_in_audience(reader: Subscriber) -> dict[str, Any]:
        why = _("Not in the audience of this version. {state} since {time}.").format(
            state=STATES[reader.state].words, time=clock(reader.since)
        )
        page = reader.pk if manages else None
        return {"address": reader.email, "tone": "calm", "why": why, "reader": page}

    after = request.GET.get("after", "")
    try:
        if context["text"]:
            found, more = found_readers(edition.issue_id, edition.version, context["text"])
            rows = [
                row(delivery) if delivery else not_in_audience(reader) for reader, delivery in found
            ]
            return {**context, "rows": rows, "more_found": more}
        deliveries, following = outcome_page(
            edition.pk, context["outcome"], after, limit=context["limit"]
        )
    except DeliveriesDroppedError as gone:
        return {**context, "rows": [], "text": "", "dropped": str(gone)}
    rows = [row(delivery) for delivery in deliveries]
    return {**context, "rows": rows, "paged": bool(after), "after": following}

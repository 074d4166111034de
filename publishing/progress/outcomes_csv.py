"""The CSV file of an edition's readers, by the outcome of their copies."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from delivery.models import Delivery
from delivery.reader_fields import FIELD_NAMES, own_columns
from publishing.activity.record_issue_activity import record_edition_activity
from publishing.desk_access import may_take_readers_away, user_id_of
from publishing.editions.edition_status import dropped_sentence, load_status
from publishing.editions.find_edition import edition_from_url
from publishing.progress.outcome_sentences import address_of, why_of
from publishing.progress.reader_outcomes import ALL, LISTS, every_delivery
from subscribers.files.safe_csv import csv_download, csv_line

HEADER = (
    *("reader", "address", *FIELD_NAMES, "outcome", "missed", "sent_at", "message_id"),
    *("evidence", "reason", "delivered_at", "bounced_at", "complained_at"),
)


@may_take_readers_away
@require_safe
def readers_csv(request: HttpRequest, issue: uuid.UUID) -> HttpResponseBase:
    """Stream a CSV file of the readers with one outcome, or of all readers."""
    outcome = request.GET.get("outcome") or ALL
    if outcome not in LISTS:
        raise Http404(
            _("There is no such list of readers. Use one of {lists}.").format(
                lists=", ".join(LISTS)
            )
        )
    edition = edition_from_url(request, issue)
    dropped = dropped_sentence(edition.deliveries_dropped_at)
    if dropped:
        return HttpResponse(f"{dropped}\n", status=410, content_type="text/plain; charset=utf-8")
    record_edition_activity("download_readers", user_id_of(request), edition, outcome=outcome)
    held_until = load_status(edition.pk).held_until
    name = f"{edition.issue.slug}-v{edition.version}-{outcome}.csv"
    lines = deliveries_csv(every_delivery(edition.pk, outcome), held_until, edition.merge_fields)
    return csv_download(lines, name)


def deliveries_csv(
    deliveries: Iterable[Delivery], held_until: datetime | None, merge_fields: Sequence[str]
) -> Iterator[str]:
    """Yield the header and a line for each copy; times are in UTC.

    The last columns are the values of the edition's `merge_fields`.
    """
    yield csv_line(*HEADER, *own_columns(merge_fields, HEADER))
    no_values = [""] * len(merge_fields)
    clock = partial(datetime.isoformat, timespec="seconds")
    for delivery in deliveries:
        yield csv_line(
            delivery.recipient_id,
            address_of(delivery),
            *(getattr(delivery, name) for name in FIELD_NAMES),
            delivery.outcome,
            "yes" if delivery.missed else "",
            delivery.sent_at,
            delivery.provider_message_id or "",
            delivery.evidence or "",
            "" if delivery.outcome == "sent" else why_of(delivery, clock, held_until=held_until),
            delivery.delivered_at,
            delivery.bounced_at,
            delivery.complained_at,
            *(delivery.fields or no_values),
        )

"""Read the copies of an edition by outcome, page by page.

Each batch stores its counts by outcome, so only batches that have copies in the list are read.
"""

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet, prefetch_related_objects

from delivery.models import Batch, Delivery, Edition
from publishing.editions.edition_status import dropped_sentence
from publishing.progress_bar import ORDER
from subscribers.address import in_ascii
from subscribers.models import Subscriber

PAGE = 50
# The number of readers that the page shows before anyone chooses a list.
FIRST_FEW = 20
ALL, MISSED = "all", "missed"
LISTS = (ALL, *ORDER, MISSED)
# The number of copies that are in memory at once while a CSV file is written.
CHUNK = 2000
# An id that is higher than the id of any recipient. A cursor with this id continues with the next
# batch. The number has as many digits as `_CURSOR` allows.
_BATCH_END = 10**18 - 1
_CURSOR = re.compile(r"(\d{1,18})\.(\d{1,18})")


class DeliveriesDroppedError(Exception):
    """The deliveries were dropped, perhaps while they were read.

    The message has the time of the drop.
    """


def outcome_page(
    edition: int, outcome: str, after: str = "", *, limit: int = PAGE
) -> tuple[list[Delivery], str]:
    """Return up to `limit` copies of a list in `LISTS`, and the next cursor or "".

    `after` is the cursor of this page, empty for the first page. Raises `DeliveriesDroppedError`.
    """
    if outcome not in LISTS:
        raise ValueError(f"{outcome!r} is not an outcome. Use one of {', '.join(LISTS)}.")
    # The column of a batch that has the number of its copies in this list.
    counted = "size" if outcome == ALL else outcome
    batches = Batch.objects.filter(Q(**{f"{counted}__gt": 0}), edition=edition).order_by("pk")
    conditions: dict[str, dict[str, Any]] = {ALL: {}, MISSED: {"missed": True}}
    deliveries = Delivery.objects.filter(**conditions.get(outcome, {"outcome": outcome}))
    first = 0
    if cursor := _CURSOR.fullmatch(after):
        first, recipient = int(cursor[1]), int(cursor[2])
        batches = batches.filter(pk__gte=first)
        deliveries = deliveries.filter(
            Q(batch_id__gt=first) | Q(batch_id=first, recipient_id__gt=recipient)
        )
    # Take as many batches as fill the page. Do not count the first batch, because earlier pages
    # may have shown all of its copies.
    ids, there, were_enough = [], 0, False
    for batch, count in batches.values_list("pk", counted)[: limit + 2]:
        ids.append(batch)
        there += count if batch != first else 0
        if there > limit:
            were_enough = True
            break
    found = list(
        deliveries.filter(batch_id__in=ids)
        .select_related("batch")
        .order_by("batch_id", "recipient_id")[: limit + 1]
    )
    _require_kept(Edition.objects.filter(pk=edition))
    shown = found[:limit]
    if len(found) > limit:
        return shown, f"{shown[-1].batch_id}.{shown[-1].recipient_id}"
    # Some copies got another outcome between the two queries, so the page is not full. Later
    # batches may have more copies that belong in this list.
    return shown, f"{ids[-1]}.{_BATCH_END}" if were_enough else ""


def every_delivery(edition: int, outcome: str) -> Iterator[Delivery]:
    """Yield all copies of a list, in constant memory.

    Raises `DeliveriesDroppedError`, perhaps after it has yielded some copies.
    """
    after = ""
    while True:
        deliveries, after = outcome_page(edition, outcome, after, limit=CHUNK)
        yield from deliveries
        if not after:
            return


def found_readers(
    issue: UUID, version: int, text: str
) -> tuple[list[tuple[Subscriber, Delivery | None]], bool]:
    """Return the readers whose address starts with `text`, and whether there are more.

    Each reader is paired with the reader's copy, or with None if the reader was not in the
    audience. Raises `DeliveriesDroppedError`.
    """
    found = Subscriber.objects.filter(email_key__startswith=in_ascii(text))
    readers = list(found.order_by("email_key")[: PAGE + 1])
    shown = readers[:PAGE]
    of_readers = list(Delivery.objects.by_key(issue, version, [reader.pk for reader in shown]))
    prefetch_related_objects(of_readers, "batch")
    deliveries = {delivery.recipient_id: delivery for delivery in of_readers}
    _require_kept(Edition.objects.filter(issue=issue, version=version))
    return [(reader, deliveries.get(reader.pk)) for reader in shown], len(readers) > PAGE


def _require_kept(edition: QuerySet[Edition]) -> None:
    """Raise `DeliveriesDroppedError` if the deliveries were dropped.

    Call this after reading deliveries. An edition is marked as dropped before the first deletion,
    so no missing delivery goes unnoticed.
    """
    for dropped_at in edition.values_list("deliveries_dropped_at", flat=True):
        if dropped_at is not None:
            raise DeliveriesDroppedError(dropped_sentence(dropped_at))

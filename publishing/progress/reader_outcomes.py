"""Readers' outcomes, a page at a time: the batches' counts say which batches to read."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from delivery.models import Batch, Delivery, Edition
from publishing.editions.dropped_sentence import dropped_sentence
from publishing.progress_bar import ORDER
from subscribers.models import Subscriber

PAGE = 50
# Shown to a user who did not ask for the list.
FIRST_FEW = 20
ALL, MISSED = "all", "missed"
LISTS = (ALL, *ORDER, MISSED)
# Copies held in memory while a file of them is written.
CHUNK = 2000
# Behind every recipient of a batch; no more digits than a cursor may have.
_BATCH_END = 10**18 - 1
_CURSOR = re.compile(r"(\d{1,18})\.(\d{1,18})")


@dataclass(frozen=True, slots=True)
class ListCursor:
    """Where a page of the list begins: after this recipient of this batch."""

    batch: int
    recipient: int

    def __str__(self) -> str:
        return f"{self.batch}.{self.recipient}"


@dataclass(frozen=True, slots=True)
class OutcomePage:
    """Some copies of one list, and where the next page begins, if there is one."""

    outcome: str
    copies: Sequence[Delivery]
    after: ListCursor | None


class CopiesDroppedError(Exception):
    """The deliveries were dropped, perhaps while they were read; one sentence says when."""


@dataclass(frozen=True, slots=True)
class FoundReader:
    """A reader who matches a search, and their copy; None if they were not in the audience."""

    reader: Subscriber
    copy: Delivery | None


def parse_cursor(text: str) -> ListCursor | None:
    """The cursor that an address names; None for the beginning."""
    match = _CURSOR.fullmatch(text)
    return ListCursor(int(match[1]), int(match[2])) if match else None


def outcome_page(
    edition: int, outcome: str, after: ListCursor | None = None, *, most: int = PAGE
) -> OutcomePage:
    """Up to `most` copies on one of `LISTS`, after a cursor. Raises `CopiesDroppedError`."""
    if outcome not in LISTS:
        raise ValueError(f"{outcome!r} is not an outcome; one of {', '.join(LISTS)} is expected.")
    # The column of the batches that counts the list.
    counted = "size" if outcome == ALL else outcome
    batches = Batch.objects.filter(Q(**{f"{counted}__gt": 0}), edition=edition).order_by("pk")
    copies = _copies_of(outcome)
    if after is not None:
        batches = batches.filter(pk__gte=after.batch)
        copies = copies.filter(
            Q(batch_id__gt=after.batch) | Q(batch_id=after.batch, recipient_id__gt=after.recipient)
        )
    # As many batches as are needed. All copies of the first may have been shown.
    ids, there, were_enough = [], 0, False
    for batch, count in batches.values_list("pk", counted)[: most + 2]:
        ids.append(batch)
        there += count if after is None or batch != after.batch else 0
        if there > most:
            were_enough = True
            break
    found = list(
        copies.filter(batch_id__in=ids)
        .select_related("batch")
        .order_by("batch_id", "recipient_id")[: most + 1]
    )
    _require_kept(Edition.objects.filter(pk=edition))
    shown = found[:most]
    if len(found) > most:
        last = shown[-1]
        return OutcomePage(outcome, shown, ListCursor(last.batch_id, last.recipient_id))
    # Some were settled between the two queries. Later batches may hold more.
    return OutcomePage(outcome, shown, ListCursor(ids[-1], _BATCH_END) if were_enough else None)


def every_copy(edition: int, outcome: str, *, batch_size: int = CHUNK) -> Iterator[Delivery]:
    """All copies of a list in constant memory. Raises `CopiesDroppedError`, also midway."""
    after: ListCursor | None = None
    while True:
        page = outcome_page(edition, outcome, after, most=batch_size)
        yield from page.copies
        after = page.after
        if after is None:
            return


def found_readers(
    issue: UUID, version: int, text: str, *, most: int = PAGE
) -> tuple[Sequence[FoundReader], bool]:
    """Readers whose address begins with `text`, and if more do. Raises `CopiesDroppedError`."""
    readers = list(
        Subscriber.objects.filter(email_key__startswith=text.lower()).order_by("email_key")[
            : most + 1
        ]
    )
    shown = readers[:most]
    copies = {
        copy.recipient_id: copy
        for copy in Delivery.objects.filter(
            issue_id=issue, version=version, recipient_id__in=[reader.pk for reader in shown]
        ).select_related("batch")
    }
    _require_kept(Edition.objects.filter(issue=issue, version=version))
    return [FoundReader(reader, copies.get(reader.pk)) for reader in shown], len(readers) > most


def _require_kept(edition: QuerySet[Edition]) -> None:
    """Raise `CopiesDroppedError`. Called after reading: the mark precedes the first deletion."""
    for dropped_at in edition.values_list("deliveries_dropped_at", flat=True):
        if dropped_at is not None:
            raise CopiesDroppedError(dropped_sentence(dropped_at))


def _copies_of(outcome: str) -> QuerySet[Delivery]:
    if outcome == ALL:
        return Delivery.objects.all()
    if outcome == MISSED:
        return Delivery.objects.filter(missed=True)
    return Delivery.objects.filter(outcome=outcome)

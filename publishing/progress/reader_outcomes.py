"""
What became of each reader's copy, a page at a time.

The way leads over the batches, whose counts say which of them hold a copy with the outcome. So a
page costs the same whether a thousand or a million copies went out, and needs no index of its own.
A reader is looked for among the readers, and their copy by its key.
"""

from __future__ import annotations

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
# How many are shown to somebody who did not ask for the list.
FIRST_FEW = 20
# Of the failed, those who may be tried again.
ALL, MISSED = "all", "missed"
LISTS = (ALL, *ORDER, MISSED)
# Copies held in memory while a file of them is written.
CHUNK = 2000
# Behind every recipient of a batch; no more digits than a place may have.
_BATCH_END = 10**18 - 1
_PLACE = re.compile(r"(\d{1,18})\.(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the list: after this recipient of this batch."""

    batch: int
    recipient: int

    def __str__(self) -> str:
        return f"{self.batch}.{self.recipient}"


@dataclass(frozen=True, slots=True)
class OutcomePage:
    """Some copies of one list, and where the next page begins, if there is one."""

    outcome: str
    copies: Sequence[Delivery]
    after: Place | None


class CopiesDroppedError(Exception):
    """They are not kept any more, or went while they were read; one sentence says since when."""


@dataclass(frozen=True, slots=True)
class Found:
    """A reader who was looked for, and their copy; None if they were not in the audience."""

    reader: Subscriber
    copy: Delivery | None


def place(text: str) -> Place | None:
    """The place that an address names; None, the beginning, if it names none."""
    match = _PLACE.fullmatch(text)
    return Place(int(match[1]), int(match[2])) if match else None


def outcome_page(
    edition: int, outcome: str, after: Place | None = None, *, most: int = PAGE
) -> OutcomePage:
    """
    Up to `most` copies of an edition on one of `LISTS`, from a place on. Raises
    `CopiesDroppedError`.
    """
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
    # As many as are needed. Of the first, all may have been shown.
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
    _are_kept(Edition.objects.filter(pk=edition))
    shown = found[:most]
    if len(found) > most:
        last = shown[-1]
        return OutcomePage(outcome, shown, Place(last.batch_id, last.recipient_id))
    # Some were settled between the two looks. What stands in later batches is not to be missed.
    return OutcomePage(outcome, shown, Place(ids[-1], _BATCH_END) if were_enough else None)


def every_copy(edition: int, outcome: str, *, at_once: int = CHUNK) -> Iterator[Delivery]:
    """
    All copies of a list, `at_once` read at a time: memory stays the same however many they are.
    Raises `CopiesDroppedError`, also in the midst of it: a list that ends is whole.
    """
    after: Place | None = None
    while True:
        page = outcome_page(edition, outcome, after, most=at_once)
        yield from page.copies
        after = page.after
        if after is None:
            return


def found_readers(
    issue: UUID, version: int, text: str, *, most: int = PAGE
) -> tuple[Sequence[Found], bool]:
    """
    Readers whose address is `text` or begins with it, each with their copy of this edition, and
    whether there are more. Whoever was erased is not found: their address is not known any more.
    Raises `CopiesDroppedError`.
    """
    # One look into the index of addresses, and as many into the key of the copies.
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
    _are_kept(Edition.objects.filter(issue=issue, version=version))
    return [Found(reader, copies.get(reader.pk)) for reader in shown], len(readers) > most


def _are_kept(edition: QuerySet[Edition]) -> None:
    """
    To be asked after copies were read: that they are dropped is said before the first one goes, so
    what was read before that is whole. Raises `CopiesDroppedError`.
    """
    for dropped_at in edition.values_list("copies_dropped_at", flat=True):
        if dropped_at is not None:
            raise CopiesDroppedError(dropped_sentence(dropped_at))


def _copies_of(outcome: str) -> QuerySet[Delivery]:
    # `sent_at` without evidence counts as unknown, wherever the outcome still says otherwise; the
    # books go by the outcome, and so does this list.
    if outcome == ALL:
        return Delivery.objects.all()
    if outcome == MISSED:
        return Delivery.objects.filter(missed=True)
    return Delivery.objects.filter(outcome=outcome)

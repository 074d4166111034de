"""
What became of each reader's copy, a page at a time.

The way leads over the batches, whose counts say which of them hold a copy with the outcome. So a
page costs the same whether a thousand or a million copies went out, and needs no index of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from delivery.models import Batch, Delivery
from publishing.bar import ORDER

PAGE = 50
# How many are shown to somebody who did not ask for the list.
FIRST_FEW = 20
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
    """Some copies with one outcome, and where the next page begins, if there is one."""

    outcome: str
    copies: Sequence[Delivery]
    after: Place | None


def place(text: str) -> Place | None:
    """The place that an address names; None, the beginning, if it names none."""
    match = _PLACE.fullmatch(text)
    return Place(int(match[1]), int(match[2])) if match else None


def outcome_page(
    edition: int, outcome: str, after: Place | None = None, *, most: int = PAGE
) -> OutcomePage:
    """Up to `most` copies of an edition with `outcome`, one of `ORDER`, from a place on."""
    if outcome not in ORDER:
        raise ValueError(f"{outcome!r} is not an outcome; one of {', '.join(ORDER)} is expected.")
    batches = Batch.objects.filter(Q(**{f"{outcome}__gt": 0}), edition=edition)
    # `sent_at` without evidence counts as unknown, wherever the outcome still says otherwise; the
    # books go by the outcome, and so does this list.
    copies = Delivery.objects.filter(outcome=outcome)
    if after is not None:
        batches = batches.filter(pk__gte=after.batch)
        copies = copies.filter(
            Q(batch_id__gt=after.batch) | Q(batch_id=after.batch, recipient_id__gt=after.recipient)
        )
    # Every one of these batches has at least one such copy, except perhaps the first, of which
    # they may all have been shown.
    ids = list(batches.order_by("pk").values_list("pk", flat=True)[: most + 2])
    found = list(
        copies.filter(batch_id__in=ids)
        .only(
            "issue",
            "recipient",
            "version",
            "batch",
            "address",
            "outcome",
            "sent_at",
            "provider_message_id",
            "evidence",
            "reason",
        )
        .order_by("batch_id", "recipient_id")[: most + 1]
    )
    shown = found[:most]
    more = len(found) > most
    return OutcomePage(
        outcome, shown, Place(shown[-1].batch_id, shown[-1].recipient_id) if more else None
    )

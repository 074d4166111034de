"""What became of a delivery is written as it was told, whatever the words hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import connection, transaction

from delivery.models import Batch, Delivery
from delivery.queue.fates import write_fates
from delivery.settlement import Failed, Fate, Sent, Suppressed, Unknown
from tests.delivery.newsroom import Newsroom

pytestmark = pytest.mark.django_db

AWKWARD = [
    "NULL",
    "a,b",
    "{c}",
    " d ",
    "'",
    '"',
    "\\",
    '\\"',
    "two\nlines",
    "%s",
    "Åland",
    "\U0001f426",
]


def write(batch: int, fates: dict[int, Fate], *, was: str = "waiting") -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        write_fates(cursor, batch, fates, was=was, evidence="reply")


def copies(newsroom: Newsroom, number: int) -> tuple[int, list[Delivery]]:
    edition = newsroom.publish(number)
    batch = Batch.objects.get(edition=edition).pk
    return batch, list(Delivery.objects.filter(batch_id=batch).order_by("recipient"))


def now(copy: Delivery) -> Delivery:
    return Delivery.objects.get(issue=copy.issue_id, recipient=copy.recipient_id)


def test_awkward_ids_and_reasons(newsroom: Newsroom) -> None:
    batch, waiting = copies(newsroom, 2 * len(AWKWARD))
    ids = dict(zip((copy.recipient_id for copy in waiting), AWKWARD, strict=False))
    reasons = dict(zip((copy.recipient_id for copy in reversed(waiting)), AWKWARD, strict=False))
    write(
        batch,
        {who: Sent(words, None) for who, words in ids.items()}
        | {who: Suppressed(words) for who, words in reasons.items()},
    )
    written = [now(copy) for copy in waiting]
    assert {
        copy.recipient_id: copy.provider_message_id for copy in written if copy.outcome == "sent"
    } == ids
    assert {
        copy.recipient_id: copy.reason for copy in written if copy.outcome == "suppressed"
    } == reasons


def test_the_moment_that_the_provider_named_and_ours_where_it_named_none(
    newsroom: Newsroom,
) -> None:
    batch, (first, second, third) = copies(newsroom, 3)
    there = datetime(2026, 5, 4, 14, 15, 22, 987654, UTC)
    elsewhere = datetime(2026, 5, 4, tzinfo=timezone(timedelta(hours=-5, minutes=-30)))
    write(
        batch,
        {
            first.recipient_id: Sent("a", there),
            second.recipient_id: Sent("b", elsewhere),
            third.recipient_id: Sent("c", None),
        },
    )
    assert [now(first).sent_at, now(second).sent_at] == [there, elsewhere]
    assert (now(third).sent_at or there) > there


def test_a_fate_of_each_kind_is_its_own_copys(newsroom: Newsroom) -> None:
    batch, waiting = copies(newsroom, 5)
    told: list[Fate] = [
        Sent("a", None),
        Suppressed("inactive"),
        Failed("too long", refused=False),
        Failed("no such address", refused=True),
        Unknown(),
    ]
    write(batch, {copy.recipient_id: fate for copy, fate in zip(waiting, told, strict=True)})
    assert [(now(copy).outcome, now(copy).reason, now(copy).missed) for copy in waiting] == [
        ("sent", None, None),
        ("suppressed", "inactive", None),
        ("failed", "too long", True),
        ("failed", "no such address", None),
        ("unknown", None, None),
    ]


def test_the_same_readers_copy_of_another_issue_is_not_touched(newsroom: Newsroom) -> None:
    _, (before,) = copies(newsroom, 1)
    batch, (copy,) = copies(newsroom, 0)
    assert copy.recipient_id == before.recipient_id
    write(batch, {copy.recipient_id: Sent("a", None)})
    assert (now(copy).outcome, now(before).outcome) == ("sent", "waiting")

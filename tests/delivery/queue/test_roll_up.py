"""Rolled-up counts always equal the batches' counts, despite concurrent changes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from delivery.models import Batch, BatchTotal, Delivery, Edition
from delivery.queue.batches.batch_state import count_feedback
from delivery.queue.batches.roll_up import roll_up_finished
from delivery.reports.audit import AuditRule, find_violations
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import changed
from tests.publishing.second_connection import beside


@pytest.fixture
def sent(newsroom: Newsroom) -> Edition:
    """Send three batches of two copies."""
    edition = newsroom.publish(readers=6, batch_size=2)
    newsroom.deliver_all()
    return edition


def bounce(edition: Edition, recipient: int) -> None:
    with connection.cursor() as cursor:
        values = {"at": edition.published_at, "recipient": recipient}
        assert count_feedback(cursor, "bounced", "recipient_id = %(recipient)s", "false", values)


def counted(newsroom: Newsroom, edition: Edition) -> tuple[int, int, int]:
    counts = newsroom.counts(edition)
    assert counts.balanced
    assert find_violations([edition.pk]) == []
    return counts.sent, counts.failed, counts.bounced


def test_rolled_up_batches_keep_the_counts(newsroom: Newsroom, sent: Edition) -> None:
    waits = newsroom.publish()
    assert roll_up_finished(at_once=2) == 3
    assert BatchTotal.objects.get().sent == 6
    assert counted(newsroom, sent) == (6, 0, 0)
    assert newsroom.counts(waits).waiting == 6
    assert roll_up_finished() == 0


@pytest.mark.parametrize("again", [False, True], ids=["at once", "after the next roll-up"])
def test_late_bounces_change_the_rolled_up_counts(
    newsroom: Newsroom, sent: Edition, again: bool
) -> None:
    roll_up_finished()
    for number, recipient in enumerate(newsroom.recipients(sent)[:3], 1):
        bounce(sent, recipient)
        if again:
            roll_up_finished()
            assert BatchTotal.objects.get().bounced == number
        assert counted(newsroom, sent) == (6, 0, number)


def test_a_rolled_up_batch_that_is_deleted_counts_no_more(
    newsroom: Newsroom, sent: Edition
) -> None:
    roll_up_finished()
    batch = newsroom.batches(sent)[0]
    Delivery.objects.filter(batch=batch).delete()
    batch.delete()
    Edition.objects.update(audience=4)
    assert counted(newsroom, sent) == (4, 0, 0)


MISSED = {"outcome": "failed", "reason": "All tries are used up.", "missed": True} | dict.fromkeys(
    ("sent_at", "provider_message_id", "evidence")
)


def test_batches_that_need_a_decision_are_not_rolled_up(newsroom: Newsroom, sent: Edition) -> None:
    changed(newsroom.copies(sent)[0], **MISSED)
    first, second, _ = newsroom.batches(sent)
    Batch.objects.filter(pk=first.pk).update(sent=1, failed=1, missed=1)
    Batch.objects.filter(pk=second.pk).update(unknown_since=sent.published_at)
    assert roll_up_finished() == 1
    assert newsroom.counts(sent).missed == 1


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_changes_now_is_left_for_later(newsroom: Newsroom, sent: Edition) -> None:
    with transaction.atomic():
        bounce(sent, newsroom.recipients(sent)[0])
        assert beside(roll_up_finished).result(60) == 2
    assert counted(newsroom, sent) == (6, 0, 1)
    assert roll_up_finished() == 1
    assert counted(newsroom, sent) == (6, 0, 1)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda: BatchTotal.objects.update(sent=5),
        lambda: BatchTotal.objects.all().delete(),
        lambda: Batch.objects.filter(rolled_up=False).update(rolled_up=True),
    ],
    ids=["a wrong total", "no total", "a mark without a total"],
)
def test_the_audit_finds_wrong_totals(sent: Edition, break_it: Callable[[], Any]) -> None:
    roll_up_finished(at_once=2)
    Batch.objects.filter(pk=Batch.objects.order_by("pk")[0].pk).update(epoch=9)
    assert find_violations([sent.pk]) == []
    break_it()
    assert AuditRule.TOTALS_EQUAL_ROLLED_UP_BATCHES in [
        rule for rule, _ in find_violations([sent.pk])
    ]

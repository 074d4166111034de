"""Who drops copies by hand is on record, once, and two who do it at once do it together."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from delivery.models import Delivery, Edition
from delivery.queue import dropping
from delivery.queue.dropping import Answer
from publishing.dropping_copies import drop_copies, drop_old_copies
from publishing.receipts import receipt_of, recount_before_dropping
from tests.delivery.newsroom import Newsroom

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def operator(newsroom: Newsroom) -> None:
    """The author is the only superuser, under whom an act from the command line stands."""
    newsroom.author.is_superuser = True
    newsroom.author.save()


def sentences() -> list[str]:
    entries = LogEntry.objects.order_by("pk").values_list("change_message", flat=True)
    return [sentence for sentence in entries if "copies" in sentence]


def test_it_stands_in_the_log_once_however_often_it_is_gone_on_with(
    operator: None, old: Edition
) -> None:
    pieces = drop_copies(old)
    assert sentences() == ["Dropped the copies from the command line, version 1."]
    next(pieces)
    assert sum(drop_copies(old)) == 0
    assert len(sentences()) == 1


def test_daily_dropping_names_nobody(operator: None, old: Edition, settings: Any) -> None:
    settings.DELIVERIES_KEEP_DAYS = 60
    assert sum(drop_old_copies()) == 5
    assert sentences() == []


def test_what_another_run_has_begun_to_delete_is_not_said_to_differ(old: Edition) -> None:
    receipt_of(old)
    assert dropping.say_dropped(old.pk, days=52) is Answer.SAID
    pieces = dropping.delete_copies(old.pk, at_once=2)
    next(pieces)
    pieces.close()
    recount_before_dropping(old)
    assert dropping.say_dropped(old.pk, days=52) is Answer.WAS_SAID_BEFORE
    assert Delivery.objects.filter(issue=old.issue_id).count() == 3

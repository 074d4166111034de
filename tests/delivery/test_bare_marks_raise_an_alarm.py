"""Whoever finds a bare mark of having been sent raises an alarm, once, and for nothing else."""

from __future__ import annotations

import pytest
from django.db.models.functions import Now

from delivery.delivery_key import DeliveryKey
from delivery.models import Alarm, Delivery, Edition, Evidence
from delivery.queue import control
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom
from tests.delivery.on_record import put_on_record


def copies_of(edition: Edition) -> list[Delivery]:
    return list(Delivery.objects.filter(issue=edition.issue_id).order_by("recipient"))


def mark(copy: Delivery, **marks: object) -> str:
    Delivery.objects.filter(issue=copy.issue_id, recipient=copy.recipient_id).update(**marks)
    return str(DeliveryKey(copy.issue_id, copy.version, copy.recipient_id))


def alarms() -> list[tuple[str, str]]:
    return [(alarm.kind, alarm.about) for alarm in Alarm.objects.order_by("pk")]


@pytest.mark.parametrize("marks", [{"sent_at": Now()}, {"provider_message_id": "a-bare-id"}])
def test_a_worker_that_finds_one_raises_an_alarm(
    newsroom: Newsroom, provider: SandboxServer, marks: dict[str, object]
) -> None:
    edition = newsroom.publish(readers=3)
    key = mark(copies_of(edition)[1], **marks)
    newsroom.deliver_all()
    assert alarms() == [("marked_unsettled", key)]
    assert newsroom.outcomes(edition) == ["sent", "unknown", "sent"]


def test_a_cancel_that_finds_one_raises_an_alarm(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    key = mark(copies_of(edition)[0], sent_at=Now())
    control.cancel(edition.pk)
    assert alarms() == [("marked_unsettled", key)]


def test_an_acceptance_that_is_on_record_is_nobody_elses_mark(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=2)
    put_on_record(copies_of(edition)[0], "came-late", Evidence.Source.REPLY)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "sent"]
    assert alarms() == []

"""What the audit finds in books that no code of ours would write."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from delivery.models import Batch, Delivery, Edition
from delivery.queue import control, identity
from delivery.queue.audit import breaches_of
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom


def promises_broken(edition: Edition) -> list[str]:
    return [breach.promise for breach in breaches_of([edition.pk])]


def test_it_finds_missed_copies_that_are_not_counted(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(3)
    newsroom.deliver_all()
    one = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient")[0]
    Delivery.objects.filter(recipient=one.recipient_id).update(
        outcome="failed",
        reason="All tries are used up.",
        missed=True,
        sent_at=None,
        provider_message_id=None,
        evidence=None,
    )
    Batch.objects.update(sent=2, failed=1)
    assert promises_broken(edition) == ["The counts of every batch equal its rows"]
    Batch.objects.update(missed=1)
    assert promises_broken(edition) == []


@pytest.mark.parametrize("what", ["bounced", "complained"])
def test_it_finds_what_came_back_and_is_not_counted(
    newsroom: Newsroom, provider: SandboxServer, what: str
) -> None:
    edition = newsroom.publish(3)
    newsroom.deliver_all()
    one = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient")[0]
    Delivery.objects.filter(recipient=one.recipient_id).update(**{f"{what}_at": Now()})
    assert promises_broken(edition) == [
        "Bounces and complaints of every edition are counted as its rows have them"
    ]
    Batch.objects.update(**{what: 1})
    assert promises_broken(edition) == []


@pytest.mark.parametrize("command", ["audit", "reconcile"])
def test_an_empty_id_does_not_stand_for_all_issues(newsroom: Newsroom, command: str) -> None:
    with pytest.raises(CommandError, match=r"^'' is not the id of an issue; a UUID is expected\.$"):
        call_command(command, "")


@pytest.mark.parametrize("held_back_by", ["pause", "restore"])
def test_it_finds_a_batch_in_line_of_an_edition_that_is_held_back(
    newsroom: Newsroom, held_back_by: str
) -> None:
    edition = newsroom.publish(3)
    if held_back_by == "pause":
        control.pause(edition.pk)
    else:
        identity.declare_restored()
    assert promises_broken(edition) == []
    Batch.objects.update(state="ready")
    assert promises_broken(edition) == [
        "Nothing is in line of an edition that is not running, or not reconciled"
    ]


def test_it_finds_a_copy_that_waits_of_an_edition_that_was_cancelled(newsroom: Newsroom) -> None:
    edition = newsroom.publish(3)
    control.cancel(edition.pk)
    assert promises_broken(edition) == []
    Delivery.objects.update(outcome="waiting", reason=None)
    Batch.objects.update(state="paused", waiting=3, withdrawn=0)
    assert promises_broken(edition) == [
        "Of an edition that was cancelled nothing waits outside a call or a doubt"
    ]


@pytest.mark.parametrize("probing", [True, False])
def test_it_finds_batches_that_nobody_will_ever_let_go(newsroom: Newsroom, probing: bool) -> None:
    edition = newsroom.publish(3)
    Batch.objects.update(state="paused")
    Edition.objects.update(probing=probing)
    assert promises_broken(edition) == [
        "While batches of a running edition are held back one of them goes first"
    ]

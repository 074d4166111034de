"""A paused edition sends nothing and goes on where it stopped, or by one batch that goes first."""

from __future__ import annotations

import uuid

import pytest

from delivery.dispatch import policy_from_settings, postmark_from_settings
from delivery.look_up import look_up
from delivery.models import Batch, Edition
from delivery.outcomes import Accepted, Answered, CallFault, CallUnanswered, Fault, PutOff
from delivery.queue import control
from delivery.queue.start import ClaimLost, start
from postmark_sandbox.server import SandboxServer
from tests.delivery.hands_on_an_edition import (
    WORKER,
    Call,
    accepted,
    asked,
    leave_all_of,
    states,
    taken,
)
from tests.delivery.newsroom import Newsroom


@pytest.mark.usefixtures("small_batches")
class TestPausing:
    def test_a_paused_edition_sends_nothing_until_it_is_resumed(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=6)
        newsroom.step()
        assert control.pause(edition.pk)
        newsroom.deliver_all()
        assert (newsroom.state(edition), accepted(provider)) == ("paused", 2)
        assert control.resume(edition.pk)
        newsroom.deliver_all()
        assert (newsroom.state(edition), accepted(provider)) == ("succeeded", 6)

    def test_a_batch_that_was_claimed_before_the_pause_does_not_start(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=2)
        held = taken()
        control.pause(edition.pk)
        assert start(held, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5) == ClaimLost()
        assert not newsroom.attempts(edition)

    def test_what_is_put_off_by_the_provider_meanwhile_comes_back_paused(
        self, newsroom: Newsroom
    ) -> None:
        edition = newsroom.publish(readers=2)
        in_the_air = Call()
        control.pause(edition.pk)
        in_the_air.ends(PutOff("Too fast."))
        assert states(newsroom, edition) == ["paused"]
        assert newsroom.state(edition) == "paused"

    def test_one_that_is_held_may_be_paused_and_keeps_its_hold(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=2, hold_s=60)
        assert control.pause(edition.pk)
        assert control.resume(edition.pk)
        assert newsroom.state(edition) == "held"
        newsroom.deliver_all()
        assert accepted(provider) == 0

    def test_pausing_while_one_batch_goes_first_does_not_let_the_rest_go_after_it(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=6)
        provider.sandbox.set_fault("unauthorized_401")
        newsroom.step()
        control.resume(edition.pk)
        control.pause(edition.pk)
        control.resume(edition.pk)
        assert states(newsroom, edition) == ["ready", "paused", "paused"]

    def test_only_what_runs_can_be_paused_and_only_once(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=2)
        assert control.pause(edition.pk)
        assert not control.pause(edition.pk)

    def test_a_fault_that_a_call_in_the_air_meets_is_not_lost_in_the_pause(
        self, newsroom: Newsroom
    ) -> None:
        edition = newsroom.publish(readers=4)
        in_the_air = Call()
        control.pause(edition.pk)
        in_the_air.ends(CallFault(Fault("The token is refused.", "Set it right.")))
        assert newsroom.state(edition) == "needs_attention"
        assert "The token is refused." in newsroom.books(edition).control_reason


@pytest.mark.parametrize("stage", ["in a call", "asked about"])
def test_a_batch_that_was_on_its_way_when_the_edition_was_resumed_passes_the_turn_on(
    newsroom: Newsroom, provider: SandboxServer, small_batches: None, stage: str
) -> None:
    edition = newsroom.publish(readers=6)
    on_its_way = Call()
    if stage == "asked about":
        on_its_way.ends(CallUnanswered("Cut off."))
        newsroom.let_time_pass(61)
        in_question = asked()
    provider.sandbox.set_fault("unauthorized_401")
    newsroom.dispatcher().deliver(taken())
    assert control.resume(edition.pk)
    # Everybody in the batch that goes first leaves: it is no judgement, and nobody is asked.
    first = next(batch for batch in newsroom.batches(edition) if batch.state == "ready")
    leave_all_of(first)
    newsroom.dispatcher().deliver(taken())

    if stage == "in a call":
        on_its_way.ends(Answered([Accepted("m-1", None), Accepted("m-2", None)]))
    else:
        look_up(in_question, postmark_from_settings(), policy_from_settings(), jitter=0.5)
    for _ in range(3):
        newsroom.deliver_after(1000)

    assert newsroom.state(edition) == "succeeded"
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 4 + ["withdrawn"] * 2


def test_a_batch_that_was_claimed_before_the_stop_and_has_nobody_left_passes_the_turn_on(
    newsroom: Newsroom, provider: SandboxServer, small_batches: None
) -> None:
    edition = newsroom.publish(readers=4)
    held = taken()
    Batch.objects.filter(pk=held.batch).update(state="claimed")
    # Probing by the time it starts, which its claim does not know yet.
    Edition.objects.filter(pk=edition.pk).update(probing=True)
    Batch.objects.filter(edition=edition, state="ready").update(state="paused")
    leave_all_of(Batch.objects.get(pk=held.batch))
    newsroom.dispatcher().deliver(held)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "succeeded"

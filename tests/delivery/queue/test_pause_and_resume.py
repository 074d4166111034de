"""Holds, pauses, and the probe after a resume."""

import uuid

import pytest

from delivery.models import Batch, Edition
from delivery.provider.from_settings import policy_from_settings, provider_from_settings
from delivery.queue import edition_control
from delivery.queue.start_call import start
from delivery.rules.call_results import AllAccepted, Answered, Deferred, RejectedForAll, Unanswered
from delivery.rules.outcomes import Sent
from delivery.unknown.look_up_unknown import look_up
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import (
    WORKER,
    Call,
    accepted,
    asked,
    claim_next_batch,
    leave_all_of,
    states,
)

pytestmark = pytest.mark.usefixtures("small_batches")


def test_a_paused_edition_sends_nothing_until_it_is_resumed(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=6)
    newsroom.step()
    assert edition_control.pause(edition.pk)
    newsroom.deliver_all()
    assert (newsroom.state(edition), accepted(newsroom)) == ("paused", 2)
    assert edition_control.resume(edition.pk)
    newsroom.deliver_all()
    assert (newsroom.state(edition), accepted(newsroom)) == ("succeeded", 6)


def test_a_batch_claimed_before_a_pause_does_not_start(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    held = claim_next_batch()
    edition_control.pause(edition.pk)
    assert start(held, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5) == []
    assert not newsroom.attempts(edition)


def test_a_call_deferred_during_a_pause_returns_paused(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    call = Call()
    edition_control.pause(edition.pk)
    call.ends(Deferred(because("Too fast.")))
    assert states(newsroom, edition) == ["paused"]
    assert newsroom.state(edition) == "paused"


def test_a_hold_outlives_a_pause(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, hold_s=60)
    assert edition_control.pause(edition.pk)
    assert edition_control.resume(edition.pk)
    assert newsroom.state(edition) == "held"
    newsroom.deliver_all()
    assert accepted(newsroom) == 0


def test_a_pause_and_resume_keep_the_probe(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=6)
    newsroom.sandbox.set_fault("unauthorized_401")
    newsroom.step()
    edition_control.resume(edition.pk)
    edition_control.pause(edition.pk)
    edition_control.resume(edition.pk)
    assert states(newsroom, edition) == ["ready", "paused", "paused"]


def test_only_running_editions_can_be_paused(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    assert edition_control.pause(edition.pk)
    assert not edition_control.pause(edition.pk)


def test_fault_during_a_pause_still_stops_the_edition(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4)
    call = Call()
    edition_control.pause(edition.pk)
    call.ends(RejectedForAll(because("The token is refused. Set it right.")))
    assert newsroom.state(edition) == "needs_attention"
    assert newsroom.counts(edition).control_reason == because("The token is refused. Set it right.")


@pytest.mark.parametrize("stage", ["in a call", "accepted as a whole", "asked about"])
def test_batch_in_flight_at_resume_passes_the_probe_on(newsroom: Newsroom, stage: str) -> None:
    edition = newsroom.publish(readers=6)
    on_its_way = Call()
    if stage == "asked about":
        on_its_way.ends(Unanswered(because("Cut off.")))
        newsroom.let_time_pass(61)
        in_question = asked()
    newsroom.sandbox.set_fault("unauthorized_401")
    newsroom.dispatcher().send(claim_next_batch())
    assert edition_control.resume(edition.pk)
    # All readers of the probe unsubscribe, so the provider never gets the probe.
    first = next(batch for batch in newsroom.batches(edition) if batch.state == "ready")
    leave_all_of(first)
    newsroom.dispatcher().send(claim_next_batch())

    if stage == "in a call":
        on_its_way.ends(Answered([Sent("m-1", None), Sent("m-2", None)]))
    elif stage == "accepted as a whole":
        on_its_way.ends(AllAccepted(["m-1", "m-2"], [None, None]))
    else:
        look_up(in_question, provider_from_settings(), policy_from_settings(), jitter=0.5)
    for _ in range(3):
        newsroom.deliver_after(1000)

    assert newsroom.state(edition) == "succeeded"
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 4 + ["withdrawn"] * 2


def test_empty_claimed_batch_passes_the_probe_on(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4)
    held = claim_next_batch()
    Batch.objects.filter(pk=held.batch).update(state="claimed")
    # The batch becomes a probe after its claim, so the claim does not say that it is a probe.
    Edition.objects.filter(pk=edition.pk).update(probing=True)
    Batch.objects.filter(edition=edition, state="ready").update(state="paused")
    leave_all_of(Batch.objects.get(pk=held.batch))
    newsroom.dispatcher().send(held)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "succeeded"


@pytest.mark.parametrize("paused", [False, True])
def test_called_back_edition_is_sent_to_no_reader(newsroom: Newsroom, paused: bool) -> None:
    edition = newsroom.publish(readers=5, hold_s=60)
    if paused:
        edition_control.pause(edition.pk)
    assert edition_control.call_back(edition.pk) == 5
    newsroom.deliver_after(120)
    assert newsroom.state(edition) == "cancelled"
    assert newsroom.outcomes(edition) == ["withdrawn"] * 5
    assert accepted(newsroom) == 0


def test_call_back_fails_after_the_hold(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    assert edition_control.call_back(edition.pk) is None
    assert newsroom.state(edition) == "sending"


def test_an_issue_cannot_be_called_back_after_a_call(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, hold_s=60)
    # One batch is due during the hold, and its call starts.
    Batch.objects.filter(pk=newsroom.batches(edition)[0].pk).update(due_at=edition.published_at)
    newsroom.step()
    assert edition_control.call_back(edition.pk) is None
    assert sorted(newsroom.outcomes(edition)) == ["sent", "sent", "waiting", "waiting"]


def test_an_edition_sent_now_does_not_wait_for_its_hold(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, hold_s=3600)
    assert edition_control.send_now(edition.pk)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "succeeded"


def test_only_held_running_editions_are_sent_now(newsroom: Newsroom) -> None:
    paused = newsroom.publish(readers=2, hold_s=3600)
    edition_control.pause(paused.pk)
    assert not edition_control.send_now(paused.pk)
    running = newsroom.publish()
    assert not edition_control.send_now(running.pk)

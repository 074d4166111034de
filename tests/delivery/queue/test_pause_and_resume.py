"""A hold, a pause, and the batch that goes first after it."""

import uuid

import pytest

from delivery.configuration import policy_from_settings, postmark_from_settings
from delivery.models import Batch, Edition
from delivery.queue import control
from delivery.queue.start import start
from delivery.rules.call_results import Answered, Deferred, RejectedForAll, Unanswered
from delivery.rules.outcomes import Sent
from delivery.unknown.lookup import look_up
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import (
    WORKER,
    Call,
    accepted,
    asked,
    leave_all_of,
    states,
    taken,
)

pytestmark = pytest.mark.usefixtures("small_batches")


def test_a_paused_edition_sends_nothing_until_it_is_resumed(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=6)
    newsroom.step()
    assert control.pause(edition.pk)
    newsroom.deliver_all()
    assert (newsroom.state(edition), accepted(newsroom)) == ("paused", 2)
    assert control.resume(edition.pk)
    newsroom.deliver_all()
    assert (newsroom.state(edition), accepted(newsroom)) == ("succeeded", 6)


def test_a_batch_claimed_before_a_pause_does_not_start(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    held = taken()
    control.pause(edition.pk)
    assert start(held, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5) == []
    assert not newsroom.attempts(edition)


def test_a_call_put_off_during_a_pause_comes_back_paused(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    in_the_air = Call()
    control.pause(edition.pk)
    in_the_air.ends(Deferred(because("Too fast.")))
    assert states(newsroom, edition) == ["paused"]
    assert newsroom.state(edition) == "paused"


def test_a_hold_outlives_a_pause(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, hold_s=60)
    assert control.pause(edition.pk)
    assert control.resume(edition.pk)
    assert newsroom.state(edition) == "held"
    newsroom.deliver_all()
    assert accepted(newsroom) == 0


def test_a_pause_does_not_forget_that_one_batch_goes_first(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=6)
    newsroom.sandbox.set_fault("unauthorized_401")
    newsroom.step()
    control.resume(edition.pk)
    control.pause(edition.pk)
    control.resume(edition.pk)
    assert states(newsroom, edition) == ["ready", "paused", "paused"]


def test_only_what_runs_can_be_paused_and_only_once(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    assert control.pause(edition.pk)
    assert not control.pause(edition.pk)


def test_a_fault_of_a_call_in_flight_is_not_lost_in_the_pause(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4)
    in_the_air = Call()
    control.pause(edition.pk)
    in_the_air.ends(RejectedForAll(because("The token is refused. Set it right.")))
    assert newsroom.state(edition) == "needs_attention"
    assert newsroom.counts(edition).control_reason == because("The token is refused. Set it right.")


@pytest.mark.parametrize("stage", ["in a call", "asked about"])
def test_a_batch_in_flight_at_the_resume_passes_the_turn_on(newsroom: Newsroom, stage: str) -> None:
    edition = newsroom.publish(readers=6)
    on_its_way = Call()
    if stage == "asked about":
        on_its_way.ends(Unanswered(because("Cut off.")))
        newsroom.let_time_pass(61)
        in_question = asked()
    newsroom.sandbox.set_fault("unauthorized_401")
    newsroom.dispatcher().send(taken())
    assert control.resume(edition.pk)
    # Everybody in the batch that goes first leaves: it is no judgement, and nobody is asked.
    first = next(batch for batch in newsroom.batches(edition) if batch.state == "ready")
    leave_all_of(first)
    newsroom.dispatcher().send(taken())

    if stage == "in a call":
        on_its_way.ends(Answered([Sent("m-1", None), Sent("m-2", None)]))
    else:
        look_up(in_question, postmark_from_settings(), policy_from_settings(), jitter=0.5)
    for _ in range(3):
        newsroom.deliver_after(1000)

    assert newsroom.state(edition) == "succeeded"
    assert sorted(newsroom.outcomes(edition)) == ["sent"] * 4 + ["withdrawn"] * 2


def test_an_empty_batch_claimed_before_the_stop_passes_the_turn_on(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4)
    held = taken()
    Batch.objects.filter(pk=held.batch).update(state="claimed")
    # Probing by the time it starts, which its claim does not know yet.
    Edition.objects.filter(pk=edition.pk).update(probing=True)
    Batch.objects.filter(edition=edition, state="ready").update(state="paused")
    leave_all_of(Batch.objects.get(pk=held.batch))
    newsroom.dispatcher().send(held)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "succeeded"


@pytest.mark.parametrize("paused", [False, True])
def test_nobody_gets_an_edition_that_is_called_back(newsroom: Newsroom, paused: bool) -> None:
    edition = newsroom.publish(readers=5, hold_s=60)
    if paused:
        control.pause(edition.pk)
    assert control.call_back(edition.pk) == 5
    newsroom.deliver_after(120)
    assert newsroom.state(edition) == "cancelled"
    assert newsroom.outcomes(edition) == ["withdrawn"] * 5
    assert accepted(newsroom) == 0


def test_once_the_hold_is_over_it_is_too_late_to_call_back(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    assert control.call_back(edition.pk) is None
    assert newsroom.state(edition) == "sending"


def test_after_a_call_nothing_is_called_back(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, hold_s=60)
    # A batch that is due before its edition's hold is over; then the hold comes back.
    Batch.objects.filter(pk=newsroom.batches(edition)[0].pk).update(due_at=edition.published_at)
    newsroom.step()
    assert control.call_back(edition.pk) is None
    assert sorted(newsroom.outcomes(edition)) == ["sent", "sent", "waiting", "waiting"]


def test_an_edition_sent_now_does_not_wait_for_its_hold(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4, hold_s=3600)
    assert control.send_now(edition.pk)
    newsroom.deliver_all()
    assert newsroom.state(edition) == "succeeded"


def test_only_what_is_held_and_runs_is_sent_now(newsroom: Newsroom) -> None:
    paused = newsroom.publish(readers=2, hold_s=3600)
    control.pause(paused.pk)
    assert not control.send_now(paused.pk)
    running = newsroom.publish()
    assert not control.send_now(running.pk)

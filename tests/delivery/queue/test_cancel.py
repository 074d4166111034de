"""Cancelling withdraws the copies that are not accepted, and counts them exactly."""

import uuid

import pytest
from django.db import IntegrityError, OperationalError, connection
from django.db.models.functions import Now

from delivery.models import Alarm, Delivery, Edition
from delivery.queue import edition_control
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.queue.start_call import start
from delivery.rules.call_results import Answered, CallResult, Deferred, NotSent, TooLarge
from delivery.rules.outcomes import Sent
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.recorded_acceptance import put_on_record
from tests.delivery.worker_steps import WORKER, Call, accepted, changed, claim_next_batch, states
from tests.publishing.second_connection import at_once

pytestmark = pytest.mark.usefixtures("small_batches")


def test_the_rest_is_withdrawn_and_the_number_reached_is_exact(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=7)
    newsroom.step()
    assert edition_control.cancel(edition.pk) == 5
    newsroom.deliver_all()
    counts = newsroom.counts(edition)
    assert (counts.sent, counts.withdrawn, counts.waiting) == (2, 5, 0)
    assert accepted(newsroom) == 2
    assert newsroom.state(edition) == "cancelled"


def test_a_batch_claimed_before_a_cancel_does_not_start(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    held = claim_next_batch()
    assert edition_control.cancel(edition.pk) == 2
    assert start(held, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5) == []
    assert newsroom.outcomes(edition) == ["withdrawn"] * 2


def test_call_in_flight_ends_normally(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    call = Call()
    assert edition_control.cancel(edition.pk) == 1
    assert newsroom.counts(edition).waiting == 2
    call.ends(Answered([Sent("m-1", None), Sent("m-2", None)]))
    assert newsroom.outcomes(edition) == ["sent", "sent", "withdrawn"]


@pytest.mark.parametrize(
    "answer",
    [Deferred(because("Too fast.")), NotSent(because("No way.")), TooLarge(because("Half."))],
)
def test_unaccepted_copies_of_a_cancelled_edition_are_withdrawn(
    newsroom: Newsroom, answer: CallResult
) -> None:
    edition = newsroom.publish(readers=2)
    call = Call()
    edition_control.cancel(edition.pk)
    call.ends(answer)
    assert newsroom.outcomes(edition) == ["withdrawn"] * 2
    assert states(newsroom, edition) == ["done"]


def test_cancelled_edition_still_looks_up_unknown_copies(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=4)
    newsroom.sandbox.set_fault("accept_then_close")
    newsroom.step()
    assert edition_control.cancel(edition.pk) == 2
    assert newsroom.counts(edition).unknown == 2
    newsroom.deliver_after(61)
    counts = newsroom.counts(edition)
    assert (counts.sent, counts.withdrawn, counts.unknown) == (2, 2, 0)


@pytest.mark.parametrize("policy", ["resend", "hold"])
def test_absent_copies_of_a_cancelled_edition_are_withdrawn(
    newsroom: Newsroom, settings: object, policy: str
) -> None:
    settings.DELIVERY_UNKNOWN_POLICY = policy  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=2)
    newsroom.sandbox.set_fault("reset")
    newsroom.step()
    assert newsroom.counts(edition).unknown == 2
    edition_control.cancel(edition.pk)

    for _ in range(3):
        newsroom.deliver_after(1000)

    assert newsroom.outcomes(edition) == ["withdrawn"] * 2
    assert accepted(newsroom) == 0
    assert states(newsroom, edition) == ["done"]


@pytest.mark.parametrize("mark", [{"sent_at": Now()}, {"provider_message_id": "a-bare-id"}])
def test_a_marked_copy_is_looked_up_and_not_withdrawn(
    newsroom: Newsroom, mark: dict[str, object]
) -> None:
    edition = newsroom.publish(readers=3)
    key = changed(newsroom.copies(edition)[0], **mark)
    assert edition_control.cancel(edition.pk) == 2
    assert newsroom.outcomes(edition) == ["unknown", "withdrawn", "withdrawn"]
    alarm = Alarm.objects.get()
    assert (alarm.kind, alarm.about) == ("marked_unsettled", key)


def test_accepted_waiting_copy_is_not_withdrawn(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    put_on_record(newsroom.copies(edition)[0], "m-1")
    assert edition_control.cancel(edition.pk) == 1
    assert newsroom.outcomes(edition) == ["unknown", "withdrawn"]
    assert not Alarm.objects.exists()


def test_a_cancelled_edition_stays_cancelled(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    edition_control.cancel(edition.pk)
    assert edition_control.cancel(edition.pk) is None
    assert not edition_control.resume(edition.pk)
    assert edition_control.send_to_missed(edition.pk, batch_size=2) is None
    with pytest.raises(IntegrityError, match="was cancelled and cannot become running"):
        Edition.objects.filter(pk=edition.pk).update(control="running")


def test_copy_marked_during_its_call_is_looked_up(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    call = Call()
    edition_control.cancel(edition.pk)
    Delivery.objects.update(sent_at=edition.published_at)
    call.ends(Deferred(because("Too fast.")))
    assert newsroom.outcomes(edition) == ["unknown"]


def test_counts_that_differ_from_the_rows_undo_a_cancel(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    changed(newsroom.copies(edition)[0], outcome="suppressed")
    with pytest.raises(AssertionError, match="1 of 2"):
        edition_control.cancel(edition.pk)
    assert newsroom.outcomes(edition) == ["suppressed", "waiting"]
    edition.refresh_from_db()
    assert edition.control == "running"


def test_decisions_hold_the_edition_lock(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    other = connection.copy()
    try:
        with short_transaction() as cursor, other.cursor() as another:
            lock_edition(cursor, edition.pk)
            with pytest.raises(OperationalError, match="could not obtain lock"):
                another.execute("SELECT FROM edition FOR NO KEY UPDATE NOWAIT")
    finally:
        other.close()


def test_concurrent_cancels_withdraw_each_copy_once(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=6)
    withdrawn = at_once(*[lambda: edition_control.cancel(edition.pk)] * 4)
    assert sorted(withdrawn, key=str) == [6, None, None, None]
    assert newsroom.counts(edition).withdrawn == 6

"""
What people may decide about an edition: hold it back, let it go on, end it, send again.

Every decision is exact: after its commit not one more call begins, and the counts say what became
of every copy.
"""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import IntegrityError, OperationalError, connection
from django.db.models.functions import Now

from delivery.dispatch import policy_from_settings, postmark_from_settings, result_of
from delivery.look_up import look_up
from delivery.models import Attempt, Batch, DatabaseIdentity, Delivery, Edition, Evidence
from delivery.outcomes import (
    Accepted,
    Answered,
    CallAnswer,
    CallFault,
    CallUnanswered,
    Fault,
    NotSent,
    PutOff,
    TooLarge,
)
from delivery.queue import control, identity
from delivery.queue.claim import Claim, claim, claim_look_up
from delivery.queue.settle import settle_call
from delivery.queue.short_transaction import short_transaction
from delivery.queue.split import lock_edition
from delivery.queue.start import ClaimLost, Started, start
from delivery.retries import after_call
from postmark_sandbox.server import SandboxServer
from subscribers.models import Subscriber
from tests.delivery.newsroom import Newsroom

WORKER = uuid.uuid4()


@pytest.fixture
def small_batches(settings: object) -> None:
    settings.DELIVERY_BATCH_SIZE = 2  # type: ignore[attr-defined]


def accepted(provider: SandboxServer) -> int:
    """Copies that the provider took, of whomever."""
    return int(provider.sandbox.summary()["accepted"])


class Call:
    """A call of the next batch that is in the air, to be ended as the test will have it."""

    def __init__(self) -> None:
        self._claim, self._attempt = taken(), uuid.uuid4()
        started = start(self._claim, self._attempt, WORKER, deadline_s=5, lease_s=5)
        assert isinstance(started, Started)
        self._recipients = started.recipients

    def ends(self, answer: CallAnswer) -> None:
        """The provider answers, and the worker settles."""
        settlement = after_call(
            answer,
            self._recipients,
            tries=0,
            setbacks=0,
            jitter=0.5,
            policy=policy_from_settings(),
        )
        assert settle_call(self._claim, self._attempt, settlement, result_of(answer))


def taken() -> Claim:
    """The next batch in line, claimed."""
    claimed = claim(WORKER, lease_s=60)
    assert claimed is not None
    return claimed


def leave_all_of(batch: Batch) -> None:
    """Every reader of a batch leaves the list."""
    readers = Delivery.objects.filter(batch=batch).values("recipient")
    Subscriber.objects.filter(pk__in=readers).update(
        state="unsubscribed", unsubscribed_at=batch.due_at
    )


def restored(edition: Edition) -> None:
    """Its database was found to be a restored one."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE batch SET state = 'paused' WHERE state = 'ready'")
    Edition.objects.filter(pk=edition.pk).update(
        control="stopped", control_reason="Restored.", unreconciled_since=edition.published_at
    )


def states(newsroom: Newsroom, edition: Edition) -> list[str]:
    return [batch.state for batch in newsroom.batches(edition)]


# --- Pausing and resuming ---------------------------------------------------------------------


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
        held = claim(WORKER, lease_s=60)
        assert held is not None

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

    def test_the_other_editions_go_on(self, newsroom: Newsroom, provider: SandboxServer) -> None:
        paused = newsroom.publish(readers=4)
        other = newsroom.publish()
        control.pause(paused.pk)

        newsroom.deliver_all()

        assert newsroom.state(paused) == "paused"
        assert newsroom.state(other) == "succeeded"


# --- The hold ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_batches")
class TestTheHold:
    def test_called_back_nobody_gets_it(self, newsroom: Newsroom, provider: SandboxServer) -> None:
        edition = newsroom.publish(readers=5, hold_s=60)

        assert control.call_back(edition.pk) == 5

        newsroom.let_time_pass(120)
        newsroom.deliver_all()
        assert newsroom.state(edition) == "cancelled"
        assert newsroom.outcomes(edition) == ["withdrawn"] * 5
        assert accepted(provider) == 0

    def test_a_paused_one_can_be_called_back_as_well(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=2, hold_s=60)
        control.pause(edition.pk)
        assert control.call_back(edition.pk) == 2

    def test_once_the_hold_is_over_it_is_too_late_to_call_back(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=2)
        assert control.call_back(edition.pk) is None
        assert newsroom.state(edition) == "sending"

    def test_where_a_call_started_all_the_same_nothing_is_called_back(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=4, hold_s=60)
        # A batch that is due before its edition's hold is over; then the hold comes back.
        Batch.objects.filter(pk=newsroom.batches(edition)[0].pk).update(due_at=edition.published_at)
        newsroom.step()

        assert control.call_back(edition.pk) is None
        assert sorted(newsroom.outcomes(edition)) == ["sent", "sent", "waiting", "waiting"]

    def test_sent_now_it_does_not_wait_for_the_end_of_its_hold(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=4, hold_s=3600)

        assert control.send_now(edition.pk)

        newsroom.deliver_all()
        assert newsroom.state(edition) == "succeeded"

    def test_sending_now_what_is_paused_or_not_held_changes_nothing(
        self, newsroom: Newsroom
    ) -> None:
        paused = newsroom.publish(readers=2, hold_s=3600)
        control.pause(paused.pk)
        assert not control.send_now(paused.pk)
        running = newsroom.publish()
        assert not control.send_now(running.pk)


# --- Cancelling -------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_batches")
class TestCancelling:
    def test_the_rest_is_withdrawn_and_the_number_reached_is_exact(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=7)
        newsroom.step()

        assert control.cancel(edition.pk) == 5

        newsroom.deliver_all()
        books = newsroom.books(edition)
        assert (books.sent, books.withdrawn, books.waiting) == (2, 5, 0)
        assert accepted(provider) == 2
        assert newsroom.state(edition) == "cancelled"

    def test_a_batch_that_was_claimed_before_it_does_not_start(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=2)
        held = claim(WORKER, lease_s=60)
        assert held is not None

        assert control.cancel(edition.pk) == 2

        assert start(held, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5) == ClaimLost()
        assert newsroom.outcomes(edition) == ["withdrawn"] * 2

    def test_a_call_in_the_air_ends_as_it_ends(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=3)
        in_the_air = Call()

        assert control.cancel(edition.pk) == 1
        assert newsroom.books(edition).waiting == 2
        in_the_air.ends(Answered([Accepted("m-1", None), Accepted("m-2", None)]))

        assert newsroom.outcomes(edition) == ["sent", "sent", "withdrawn"]

    @pytest.mark.parametrize("answer", [PutOff("Too fast."), NotSent("No way."), TooLarge("Half.")])
    def test_what_a_call_in_the_air_did_not_bring_out_never_goes(
        self, newsroom: Newsroom, answer: CallAnswer
    ) -> None:
        edition = newsroom.publish(readers=2)
        in_the_air = Call()

        control.cancel(edition.pk)
        in_the_air.ends(answer)

        assert newsroom.outcomes(edition) == ["withdrawn"] * 2
        assert states(newsroom, edition) == ["done"]

    def test_what_is_in_doubt_is_still_asked_about_and_counted_as_sent_if_found(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=4)
        provider.sandbox.set_fault("accept_then_close")
        newsroom.step()

        assert control.cancel(edition.pk) == 2
        assert newsroom.books(edition).unknown == 2

        newsroom.let_time_pass(61)
        newsroom.deliver_all()
        books = newsroom.books(edition)
        assert (books.sent, books.withdrawn, books.unknown) == (2, 2, 0)

    def test_what_is_in_doubt_and_surely_absent_is_withdrawn_and_not_sent_again(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=2)
        provider.sandbox.set_fault("reset")
        newsroom.step()
        assert newsroom.books(edition).unknown == 2
        control.cancel(edition.pk)

        for _ in range(3):
            newsroom.let_time_pass(1000)
            newsroom.deliver_all()

        assert newsroom.outcomes(edition) == ["withdrawn"] * 2
        assert accepted(provider) == 0
        assert states(newsroom, edition) == ["done"]

    def test_under_the_policy_hold_too_what_is_surely_absent_is_withdrawn(
        self, newsroom: Newsroom, provider: SandboxServer, settings: object
    ) -> None:
        settings.DELIVERY_UNKNOWN_POLICY = "hold"  # type: ignore[attr-defined]
        edition = newsroom.publish(readers=2)
        provider.sandbox.set_fault("reset")
        newsroom.step()
        control.cancel(edition.pk)

        for _ in range(3):
            newsroom.let_time_pass(1000)
            newsroom.deliver_all()

        assert newsroom.outcomes(edition) == ["withdrawn"] * 2

    def test_a_copy_that_bears_a_mark_of_having_been_sent_is_asked_about_not_withdrawn(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=3)
        marked = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient").first()
        assert marked is not None
        Delivery.objects.filter(
            issue=marked.issue_id, recipient=marked.recipient_id, version=1
        ).update(sent_at=edition.published_at)

        assert control.cancel(edition.pk) == 2

        assert newsroom.outcomes(edition) == ["unknown", "withdrawn", "withdrawn"]

    def test_it_is_for_good(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=2)
        control.cancel(edition.pk)

        assert control.cancel(edition.pk) is None
        assert not control.resume(edition.pk)
        assert control.send_to_missed(edition.pk, most=2) is None
        with pytest.raises(IntegrityError, match="was cancelled and cannot become running"):
            Edition.objects.filter(pk=edition.pk).update(control="running")

    def test_a_copy_that_was_marked_during_the_call_is_asked_about_and_not_withdrawn(
        self, newsroom: Newsroom
    ) -> None:
        edition = newsroom.publish(readers=1)
        in_the_air = Call()
        control.cancel(edition.pk)
        Delivery.objects.update(sent_at=edition.published_at)

        in_the_air.ends(PutOff("Too fast."))

        assert newsroom.outcomes(edition) == ["unknown"]

    def test_counts_that_differ_from_the_rows_undo_it(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=2)
        first = Delivery.objects.order_by("recipient")[0]
        Delivery.objects.filter(recipient=first.recipient_id).update(outcome="suppressed")

        with pytest.raises(AssertionError, match="1 of 2"):
            control.cancel(edition.pk)

        assert newsroom.outcomes(edition) == ["suppressed", "waiting"]
        edition.refresh_from_db()
        assert edition.control == "running"


# --- Sending again ----------------------------------------------------------------------------


@pytest.fixture
def with_missed(
    newsroom: Newsroom, provider: SandboxServer, settings: object, small_batches: None
) -> Edition:
    """Six readers: one refused for good beside one of two that were missed, three sent."""
    settings.DELIVERY_MAX_ATTEMPTS = 1  # type: ignore[attr-defined]
    readers = newsroom.confirm(6, addresses={2: "invalid@bounce.example"})
    edition = newsroom.publish()
    addresses = [reader.email for reader in readers]
    provider.sandbox.set_fault("item_error", code=100, recipients=addresses[3:5], calls=None)
    newsroom.deliver_all()
    provider.sandbox.faults.clear()
    assert newsroom.outcomes(edition) == ["sent", "sent", "failed", "failed", "failed", "sent"]
    assert newsroom.books(edition).missed == 2
    return edition


class TestSendingToTheMissed:
    def test_they_and_nobody_else_get_their_copy(
        self, newsroom: Newsroom, provider: SandboxServer, with_missed: Edition
    ) -> None:
        assert newsroom.state(with_missed) == "needs_attention"

        assert control.send_to_missed(with_missed.pk, most=500) == 2
        newsroom.deliver_all()

        assert newsroom.outcomes(with_missed) == ["sent", "sent", "failed", *["sent"] * 3]
        assert newsroom.state(with_missed) == "succeeded"
        assert provider.sandbox.summary()["deliveries_with_more_than_one_copy"] == 0

    def test_a_second_time_it_finds_nobody(self, newsroom: Newsroom, with_missed: Edition) -> None:
        control.send_to_missed(with_missed.pk, most=500)
        assert control.send_to_missed(with_missed.pk, most=500) == 0
        newsroom.books(with_missed)

    @pytest.mark.parametrize("mark", [{"provider_message_id": "m-1"}, {"sent_at": Now()}])
    def test_the_statement_leaves_out_what_bears_a_mark_of_having_been_sent(
        self, newsroom: Newsroom, with_missed: Edition, mark: dict[str, object]
    ) -> None:
        Delivery.objects.filter(issue=with_missed.issue_id, missed=True).update(**mark)
        assert control.send_to_missed(with_missed.pk, most=500) == 0

    def test_an_acceptance_that_came_meanwhile_is_asked_about_before_anything_is_sent(
        self, newsroom: Newsroom, provider: SandboxServer, with_missed: Edition
    ) -> None:
        missed = Delivery.objects.filter(issue=with_missed.issue_id, missed=True).first()
        assert missed is not None
        Evidence.objects.create(
            provider_message_id="late",
            issue_id=missed.issue_id,
            recipient_id=missed.recipient_id,
            version=1,
            source="webhook",
        )
        before = accepted(provider)
        control.send_to_missed(with_missed.pk, most=500)
        newsroom.deliver_all()

        assert accepted(provider) == before + 1
        assert newsroom.state(with_missed) == "succeeded"

    def test_they_are_cut_into_batches_and_wait_while_the_edition_is_paused(
        self, newsroom: Newsroom, with_missed: Edition
    ) -> None:
        Edition.objects.filter(pk=with_missed.pk).update(control="paused")
        assert control.send_to_missed(with_missed.pk, most=1) == 2
        new = [batch for batch in newsroom.batches(with_missed) if batch.waiting]
        assert [(batch.size, batch.state) for batch in new] == [(1, "paused"), (1, "paused")]
        newsroom.books(with_missed)


@pytest.fixture
def with_parked(
    newsroom: Newsroom, provider: SandboxServer, settings: object, small_batches: None
) -> Edition:
    """Two readers whose call was never answered, left to a person."""
    settings.DELIVERY_UNKNOWN_POLICY = "hold"  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=2)
    provider.sandbox.set_fault("reset")
    newsroom.step()
    for _ in range(3):
        newsroom.let_time_pass(1000)
        newsroom.deliver_all()
    assert states(newsroom, edition) == ["parked"]
    assert newsroom.state(edition) == "needs_attention"
    return edition


class TestDoubtThatIsLeftToAPerson:
    def test_asked_again_it_is_settled_by_what_the_provider_says_now(
        self, newsroom: Newsroom, provider: SandboxServer, with_parked: Edition
    ) -> None:
        assert control.ask_again(with_parked.pk, silences=2) == 2
        assert states(newsroom, with_parked) == ["unknown"]
        newsroom.deliver_all()
        assert states(newsroom, with_parked) == ["parked"]
        assert accepted(provider) == 0

    def test_sent_again_it_goes_once_more(
        self, newsroom: Newsroom, provider: SandboxServer, with_parked: Edition
    ) -> None:
        assert control.send_doubtful(with_parked.pk) == 2
        newsroom.deliver_all()
        assert newsroom.state(with_parked) == "succeeded"
        assert accepted(provider) == 2

    def test_what_bears_a_mark_is_not_sent_again_by_any_decision(
        self, newsroom: Newsroom, with_parked: Edition
    ) -> None:
        Delivery.objects.filter(issue=with_parked.issue_id).update(sent_at=with_parked.published_at)
        assert control.send_doubtful(with_parked.pk) == 0
        assert states(newsroom, with_parked) == ["parked"]

    def test_closed_it_stays_counted_as_doubt(
        self, newsroom: Newsroom, with_parked: Edition
    ) -> None:
        assert control.close(with_parked.pk)
        assert newsroom.state(with_parked) == "closed"
        assert newsroom.books(with_parked).unknown == 2
        assert control.ask_again(with_parked.pk, silences=2) is None

    def test_doubt_that_is_still_asked_about_is_not_for_a_person(
        self, newsroom: Newsroom, provider: SandboxServer
    ) -> None:
        edition = newsroom.publish(readers=2)
        provider.sandbox.set_fault("reset")
        newsroom.step()

        assert control.ask_again(edition.pk, silences=2) == 0
        assert control.send_doubtful(edition.pk) == 0

        assert newsroom.outcomes(edition) == ["unknown"] * 2
        assert newsroom.batch(edition).reason != "A person had Postmark asked again."

    def test_closed_it_is_not_sent_again(self, newsroom: Newsroom, with_parked: Edition) -> None:
        assert control.close(with_parked.pk)
        assert control.send_doubtful(with_parked.pk) is None
        assert states(newsroom, with_parked) == ["parked"]


class TestClosing:
    def test_a_person_accepts_who_was_missed(
        self, newsroom: Newsroom, with_missed: Edition
    ) -> None:
        assert control.close(with_missed.pk)
        assert newsroom.state(with_missed) == "closed"
        assert control.send_to_missed(with_missed.pk, most=2) is None

    def test_what_still_waits_or_is_asked_about_cannot_be_closed(
        self, newsroom: Newsroom, provider: SandboxServer, small_batches: None
    ) -> None:
        edition = newsroom.publish(readers=4)
        assert not control.close(edition.pk)
        provider.sandbox.set_fault("accept_then_close")
        newsroom.step()
        control.pause(edition.pk)
        assert not control.close(edition.pk)

    def test_what_has_ended_is_not_closed_again(
        self, newsroom: Newsroom, with_missed: Edition
    ) -> None:
        assert control.close(with_missed.pk)
        assert not control.close(with_missed.pk)


# --- One batch goes first, and others were on their way ---------------------------------------


@pytest.mark.parametrize("stage", ["in a call", "asked about"])
def test_a_batch_that_was_on_its_way_when_the_edition_was_resumed_passes_the_turn_on(
    newsroom: Newsroom, provider: SandboxServer, small_batches: None, stage: str
) -> None:
    edition = newsroom.publish(readers=6)
    on_its_way = Call()
    if stage == "asked about":
        on_its_way.ends(CallUnanswered("Cut off."))
        newsroom.let_time_pass(61)
        asked = claim_look_up(WORKER, lease_s=60)
        assert asked is not None
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
        look_up(asked, postmark_from_settings(), policy_from_settings(), jitter=0.5)
    for _ in range(3):
        newsroom.let_time_pass(1000)
        newsroom.deliver_all()

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


# --- After a restored backup ------------------------------------------------------------------


class TestBeforeItIsReconciled:
    def test_nothing_is_sent_to_the_missed(self, newsroom: Newsroom, with_missed: Edition) -> None:
        restored(with_missed)
        assert control.send_to_missed(with_missed.pk, most=500) is None
        assert newsroom.books(with_missed).missed == 2

    def test_no_doubt_is_sent_again(self, newsroom: Newsroom, with_parked: Edition) -> None:
        restored(with_parked)
        assert control.send_doubtful(with_parked.pk) is None
        assert states(newsroom, with_parked) == ["parked"]

    def test_it_cannot_be_called_back_as_if_nobody_had_it(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=2, hold_s=60)
        restored(edition)
        assert control.call_back(edition.pk) is None
        assert newsroom.outcomes(edition) == ["waiting"] * 2

    def test_it_neither_resumes_nor_closes(self, newsroom: Newsroom, with_missed: Edition) -> None:
        restored(with_missed)
        assert not control.resume(with_missed.pk)
        assert not control.close(with_missed.pk)

    def test_cancelled_it_is_still_to_be_reconciled(self, newsroom: Newsroom) -> None:
        edition = newsroom.publish(readers=2)
        restored(edition)
        assert control.cancel(edition.pk) == 2
        edition.refresh_from_db()
        assert edition.unreconciled_since is not None


def test_a_restored_edition_whose_missed_are_all_that_is_left_is_stopped_too(
    newsroom: Newsroom, with_missed: Edition
) -> None:
    identity.notice()
    DatabaseIdentity.objects.update(database=1)

    assert identity.notice().stopped == (with_missed.pk,)
    assert control.send_to_missed(with_missed.pk, most=500) is None


# --- Rows that other hands have changed -------------------------------------------------------


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "not counted"])
def test_doubt_that_other_hands_put_into_a_batch_in_line_is_asked_about_and_the_rest_goes(
    newsroom: Newsroom, provider: SandboxServer, small_batches: None, counted: bool
) -> None:
    edition = newsroom.publish(readers=2)
    one = Delivery.objects.filter(issue=edition.issue_id).order_by("recipient").first()
    assert one is not None
    Delivery.objects.filter(issue=one.issue_id, recipient=one.recipient_id, version=1).update(
        outcome="unknown", sent_at=edition.published_at
    )
    if counted:
        Batch.objects.filter(edition=edition).update(waiting=1, unknown=1)

    newsroom.deliver_all()
    assert newsroom.books(edition).sent == 1
    for _ in range(4):
        newsroom.let_time_pass(1000)
        newsroom.deliver_all()

    assert newsroom.state(edition) == "succeeded"
    assert accepted(provider) == 2


def test_the_batches_of_an_edition_never_run_into_those_of_the_next(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    with pytest.raises(IntegrityError, match="a_batch_is_numbered_within_its_edition"):
        Batch.objects.filter(edition=edition).update(edition=edition.pk + 1)


# --- Races ------------------------------------------------------------------------------------


def test_whoever_decides_holds_the_edition(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    other = connection.copy()
    try:
        with short_transaction() as cursor, other.cursor() as another:
            lock_edition(cursor, edition.pk)
            with pytest.raises(OperationalError, match="could not obtain lock"):
                another.execute("SELECT FROM edition FOR NO KEY UPDATE NOWAIT")
    finally:
        other.close()


def test_a_start_that_commits_first_is_left_alone_and_one_that_comes_second_finds_its_claim_gone(
    newsroom: Newsroom, provider: SandboxServer, small_batches: None
) -> None:
    edition = newsroom.publish(readers=4)
    first, second = claim(WORKER, lease_s=60), claim(WORKER, lease_s=60)
    assert first is not None
    assert second is not None
    assert isinstance(start(first, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5), Started)

    assert control.cancel(edition.pk) == 2

    assert start(second, uuid.uuid4(), WORKER, deadline_s=5, lease_s=5) == ClaimLost()
    assert states(newsroom, edition) == ["sending", "done"]
    assert Attempt.objects.filter(edition=edition).count() == 1


def test_nothing_left_behind_counts_twice_when_many_cancel_at_once(
    newsroom: Newsroom, small_batches: None
) -> None:
    edition = newsroom.publish(readers=6)
    withdrawn: list[int | None] = []

    def cancel() -> None:
        try:
            withdrawn.append(control.cancel(edition.pk))
        finally:
            connection.close()

    threads = [threading.Thread(target=cancel) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(withdrawn, key=str) == [6, None, None, None]
    assert newsroom.books(edition).withdrawn == 6

"""A cancelled edition ends where it is: what is not accepted is withdrawn, and counted exactly."""

from __future__ import annotations

import uuid

import pytest
from django.db import IntegrityError

from delivery.models import Delivery, Edition
from delivery.outcomes import Accepted, Answered, CallAnswer, NotSent, PutOff, TooLarge
from delivery.queue import control
from delivery.queue.start import ClaimLost, start
from postmark_sandbox.server import SandboxServer
from tests.delivery.hands_on_an_edition import WORKER, Call, accepted, states, taken
from tests.delivery.newsroom import Newsroom


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
        held = taken()
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
        newsroom.deliver_after(61)
        books = newsroom.books(edition)
        assert (books.sent, books.withdrawn, books.unknown) == (2, 2, 0)

    @pytest.mark.parametrize("policy", ["resend", "hold"])
    def test_what_is_in_doubt_and_surely_absent_is_withdrawn_and_not_sent_again(
        self, newsroom: Newsroom, provider: SandboxServer, settings: object, policy: str
    ) -> None:
        settings.DELIVERY_UNKNOWN_POLICY = policy  # type: ignore[attr-defined]
        edition = newsroom.publish(readers=2)
        provider.sandbox.set_fault("reset")
        newsroom.step()
        assert newsroom.books(edition).unknown == 2
        control.cancel(edition.pk)

        for _ in range(3):
            newsroom.deliver_after(1000)

        assert newsroom.outcomes(edition) == ["withdrawn"] * 2
        assert accepted(provider) == 0
        assert states(newsroom, edition) == ["done"]

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

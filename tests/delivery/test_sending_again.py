"""Whoever was missed gets their copy, and doubt that is left to a person is decided by one."""

from __future__ import annotations

import io

import pytest
from django.db.models.functions import Now

from delivery.models import Delivery, Edition
from delivery.queue import control
from delivery.until_empty import Watch
from postmark_sandbox.server import SandboxServer
from tests.delivery.hands_on_an_edition import accepted, states
from tests.delivery.newsroom import Newsroom
from tests.delivery.on_record import put_on_record


class TestSendingToTheMissed:
    def test_they_and_nobody_else_get_their_copy(
        self, newsroom: Newsroom, provider: SandboxServer, with_missed: Edition
    ) -> None:
        assert newsroom.state(with_missed) == "needs_attention"
        assert Watch(io.StringIO(), is_terminal=False).totals().waits_for_a_person
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
        put_on_record(missed, "late")
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

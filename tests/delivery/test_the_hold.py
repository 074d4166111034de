"""While an edition is held it can be called back for free, or sent at once."""

from __future__ import annotations

import pytest

from delivery.models import Batch
from delivery.queue import control
from postmark_sandbox.server import SandboxServer
from tests.delivery.hands_on_an_edition import accepted
from tests.delivery.newsroom import Newsroom


@pytest.mark.usefixtures("small_batches")
class TestTheHold:
    @pytest.mark.parametrize("paused", [False, True])
    def test_called_back_nobody_gets_it(
        self, newsroom: Newsroom, provider: SandboxServer, paused: bool
    ) -> None:
        edition = newsroom.publish(readers=5, hold_s=60)
        if paused:
            control.pause(edition.pk)
        assert control.call_back(edition.pk) == 5
        newsroom.deliver_after(120)
        assert newsroom.state(edition) == "cancelled"
        assert newsroom.outcomes(edition) == ["withdrawn"] * 5
        assert accepted(provider) == 0

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

"""A person accepts who was missed and what stays in doubt: the edition is closed."""

from __future__ import annotations

from delivery.models import Edition
from delivery.queue import control
from postmark_sandbox.server import SandboxServer
from tests.delivery.newsroom import Newsroom


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

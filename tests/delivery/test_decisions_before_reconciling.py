"""Before a restored edition is reconciled nobody can have anything of it sent again."""

from __future__ import annotations

from delivery.models import DatabaseIdentity, Edition
from delivery.queue import control, identity
from tests.delivery.hands_on_an_edition import restored, states
from tests.delivery.newsroom import Newsroom


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

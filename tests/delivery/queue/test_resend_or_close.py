"""Decisions about missed and unknown copies: resend, look up again or close."""

import io

import pytest
from django.db.models.functions import Now

from delivery.models import DatabaseIdentity, Delivery, Edition
from delivery.queue import edition_control
from delivery.reconcile import database_identity
from delivery.rules.reason import ReasonCode
from delivery.worker.drain import Drain
from tests.delivery.edition_factory import Newsroom
from tests.delivery.recorded_acceptance import put_on_record
from tests.delivery.worker_steps import accepted, restored, states


def test_send_to_missed_resends_only_missed_copies(
    newsroom: Newsroom, with_missed: Edition
) -> None:
    assert newsroom.state(with_missed) == "needs_attention"
    assert Drain(io.StringIO(), is_terminal=False).totals()[1]
    assert [edition_control.send_to_missed(with_missed.pk, batch_size=500) for _ in range(2)] == [
        2,
        0,
    ]
    newsroom.deliver_all()
    assert newsroom.outcomes(with_missed) == ["sent", "sent", "failed", *["sent"] * 3]
    assert newsroom.state(with_missed) == "succeeded"
    assert newsroom.sandbox.summary()["deliveries_with_more_than_one_copy"] == 0


@pytest.mark.parametrize("mark", [{"provider_message_id": "m-1"}, {"sent_at": Now()}])
def test_marked_missed_copies_are_not_sent_again(
    newsroom: Newsroom, with_missed: Edition, mark: dict[str, object]
) -> None:
    Delivery.objects.filter(issue=with_missed.issue_id, missed=True).update(**mark)
    assert edition_control.send_to_missed(with_missed.pk, batch_size=500) == 0


def test_a_missed_copy_with_evidence_is_not_sent(newsroom: Newsroom, with_missed: Edition) -> None:
    missed = next(copy for copy in newsroom.copies(with_missed) if copy.missed)
    put_on_record(missed, "late")
    before = accepted(newsroom)
    edition_control.send_to_missed(with_missed.pk, batch_size=500)
    newsroom.deliver_all()
    assert accepted(newsroom) == before + 1
    assert newsroom.state(with_missed) == "succeeded"


def test_missed_copies_wait_in_batches_in_a_pause(newsroom: Newsroom, with_missed: Edition) -> None:
    Edition.objects.filter(pk=with_missed.pk).update(control="paused")
    assert edition_control.send_to_missed(with_missed.pk, batch_size=1) == 2
    new = [batch for batch in newsroom.batches(with_missed) if batch.waiting]
    assert [(batch.size, batch.state) for batch in new] == [(1, "paused"), (1, "paused")]
    newsroom.counts(with_missed)


def test_parked_unknown_copies_can_be_looked_up_again(
    newsroom: Newsroom, with_parked: Edition
) -> None:
    assert edition_control.ask_again(with_parked.pk, silences=2) == 2
    assert states(newsroom, with_parked) == ["unknown"]
    newsroom.deliver_all()
    assert states(newsroom, with_parked) == ["parked"]
    assert accepted(newsroom) == 0


def test_parked_unknown_copies_can_be_resent_once(newsroom: Newsroom, with_parked: Edition) -> None:
    assert edition_control.resend_unknown(with_parked.pk) == 2
    newsroom.deliver_all()
    assert newsroom.state(with_parked) == "succeeded"
    assert accepted(newsroom) == 2


def test_marked_unknown_copies_are_never_resent(newsroom: Newsroom, with_parked: Edition) -> None:
    Delivery.objects.filter(issue=with_parked.issue_id).update(sent_at=with_parked.published_at)
    assert edition_control.resend_unknown(with_parked.pk) == 0
    assert states(newsroom, with_parked) == ["parked"]


def test_closed_unknown_copies_are_neither_looked_up_nor_resent(
    newsroom: Newsroom, with_parked: Edition
) -> None:
    assert edition_control.close(with_parked.pk)
    assert newsroom.state(with_parked) == "closed"
    assert edition_control.ask_again(with_parked.pk, silences=2) is None
    assert edition_control.resend_unknown(with_parked.pk) is None
    assert states(newsroom, with_parked) == ["parked"]
    assert newsroom.counts(with_parked).unknown == 2


def test_copies_in_look_up_need_no_decision(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.sandbox.set_fault("reset")
    newsroom.step()
    assert edition_control.ask_again(edition.pk, silences=2) == 0
    assert edition_control.resend_unknown(edition.pk) == 0
    assert newsroom.outcomes(edition) == ["unknown"] * 2
    assert newsroom.batch(edition).reason.code != ReasonCode.ASKED_AGAIN


def test_closing_accepts_missed_copies_once(newsroom: Newsroom, with_missed: Edition) -> None:
    assert [edition_control.close(with_missed.pk) for _ in range(2)] == [True, False]
    assert newsroom.state(with_missed) == "closed"
    assert edition_control.send_to_missed(with_missed.pk, batch_size=2) is None


def test_an_open_edition_cannot_be_closed(newsroom: Newsroom, small_batches: None) -> None:
    edition = newsroom.publish(readers=4)
    assert not edition_control.close(edition.pk)
    newsroom.sandbox.set_fault("accept_then_close")
    newsroom.step()
    edition_control.pause(edition.pk)
    assert not edition_control.close(edition.pk)


def test_unreconciled_unknown_copies_are_not_resent(
    newsroom: Newsroom, with_parked: Edition
) -> None:
    restored(with_parked)
    assert edition_control.resend_unknown(with_parked.pk) is None
    assert states(newsroom, with_parked) == ["parked"]


def test_a_restored_edition_cannot_be_called_back(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=2, hold_s=60)
    restored(edition)
    assert edition_control.call_back(edition.pk) is None
    assert newsroom.outcomes(edition) == ["waiting"] * 2


def test_a_restore_stops_an_edition_with_missed_copies(
    newsroom: Newsroom, with_missed: Edition
) -> None:
    database_identity.check_identity()
    DatabaseIdentity.objects.update(database=1)
    assert database_identity.check_identity().stopped == (with_missed.pk,)
    assert edition_control.send_to_missed(with_missed.pk, batch_size=500) is None

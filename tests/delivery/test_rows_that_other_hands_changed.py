"""Rows that were changed past the code are asked about, or refused."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from delivery.models import Batch, Delivery
from postmark_sandbox.server import SandboxServer
from tests.delivery.hands_on_an_edition import accepted
from tests.delivery.newsroom import Newsroom


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
        newsroom.deliver_after(1000)

    assert newsroom.state(edition) == "succeeded"
    assert accepted(provider) == 2


def test_the_batches_of_an_edition_never_run_into_those_of_the_next(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    with pytest.raises(IntegrityError, match="a_batch_is_numbered_within_its_edition"):
        Batch.objects.filter(edition=edition).update(edition=edition.pk + 1)

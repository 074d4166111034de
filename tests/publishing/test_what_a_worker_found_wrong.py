"""What a worker found wrong when it started is shown to authors, for as long as it runs."""

from __future__ import annotations

import uuid

import pytest
from django.db import connection

from delivery.models import Edition
from delivery.queue import presence
from subscribers.models import Subscriber
from tests.publishing.window_of import WindowOf

pytestmark = pytest.mark.django_db(transaction=True)

FOUND = "UNSUBSCRIBE_HANDLING is 'own', but Postmark's stream 'broadcast' says 'Postmark'."
TWO_LINKS = f"{FOUND} Readers may find two unsubscribe links in their mail."


def a_worker(warning: str = "") -> uuid.UUID:
    worker = uuid.uuid4()
    presence.arrive(worker, host="letterbox", pid=4711, warning=warning)
    return worker


def test_authors_read_it_while_they_write_and_while_an_issue_goes_out(
    window: WindowOf, three_readers: list[Subscriber]
) -> None:
    a_worker()
    first, second = a_worker(TWO_LINKS), a_worker(TWO_LINKS)
    window.publish()
    progress = f"/admin/newsletters/{Edition.objects.get().issue_id}/"

    for page in (window.get(), window.get(progress)):
        assert page.words.count(TWO_LINKS) == 1

    presence.leave(first)
    with connection.cursor() as cursor:  # gone without a word
        cursor.execute(
            "UPDATE worker SET heard_at = heard_at - interval '61 seconds' WHERE id = %s", [second]
        )
    assert TWO_LINKS not in window.get().words

"""Every page shows the same time for a copy: when the provider accepted it."""

import csv
import io
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db.models import F

from delivery.models import Delivery, Edition, Newsletter
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import WindowOf, address
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import sent
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent_a_day_later(author: Any) -> Delivery:
    """Return a copy that was accepted 26 hours after publication and delivered later."""
    Newsletter.objects.get_current()
    Newsletter.objects.update(time_zone="Asia/Kolkata")
    SubscriberFactory(email="ada@posthouse.example", name="Ada")
    edition = publish(author.pk, "k", letter(), hold_s=0).edition
    sent(edition)
    Edition.objects.filter(pk=edition.pk).update(
        published_at=F("published_at") - timedelta(hours=26)
    )
    copy = Delivery.objects.filter(issue=edition.issue_id)
    copy.update(delivered_at=F("sent_at") + timedelta(hours=1))
    return copy.get()


@pytest.fixture
def author(new_author: Callable[..., Any]) -> Any:
    """Create an author who may also see readers and receipts."""
    return new_author("lidia", "publish_edition", "manage_readers")


def times_in_files(window: WindowOf, edition: Edition) -> dict[str, str]:
    """Return the time of the only copy, by the kind of file that shows it."""

    def opened(path: str) -> Any:
        return window.client.get(path, secure=True)

    def only_row(file: bytes) -> dict[str, str]:
        (row,) = csv.DictReader(io.StringIO(file.decode()))
        return row

    reader = Subscriber.objects.get()
    receipt = opened(address(edition, "receipt/receipt.json?version=1")).json()["receipt"]
    data = opened(f"/admin/newsletters/readers/{reader.pk}/record.json").json()
    return {
        "CSV": only_row(opened(address(edition, "readers.csv")).getvalue())["sent_at"],
        "receipt, first": receipt["first_copy_at"],
        "receipt, last": receipt["last_copy_at"],
        "personal data": data["copies"][0]["sent_at"],
        "API": Program(window.author)
        .get(f"/issues/{edition.issue_id}/copies/")
        .json()["copies"][0]["sent_at"],
    }


def test_every_page_and_file_has_the_time_of_acceptance(
    author: Any, sent_a_day_later: Delivery
) -> None:
    window, reader = WindowOf(author), Subscriber.objects.get()
    edition, accepted_at = sent_a_day_later.batch.edition, sent_a_day_later.sent_at
    assert accepted_at is not None

    times = times_in_files(window, edition)
    local = accepted_at.astimezone(Newsletter.objects.get_current().zone)
    pages = (
        address(edition, "?outcome=all"),
        address(edition, "receipt/"),
        f"/admin/newsletters/readers/{reader.pk}/",
    )

    to_the_second = accepted_at.replace(microsecond=0)
    assert {
        kind: datetime.fromisoformat(text).replace(microsecond=0) for kind, text in times.items()
    } == dict.fromkeys(times, to_the_second)
    for page in pages:
        assert f"{local.day} {local:%b %Y, %H:%M:%S}" in window.get(page).words, page

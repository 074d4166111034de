"""The filters of the list of readers can be combined, and are part of the URL."""

from datetime import UTC, date, datetime
from urllib.parse import parse_qsl

import pytest
from django.db import connections, transaction

from subscribers.desk.reader_filter import ReaderFilter, read_filter
from subscribers.desk.reader_list import count_by_state, matching_readers
from subscribers.models import Subscriber, Tag
from tests.publishing.author_browser import WindowOf
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

READERS = "/admin/newsletters/readers/"


def test_a_filter_survives_its_url() -> None:
    days = (date(2026, 1, 2), date(2026, 3, 4))
    chosen = ReaderFilter("pending", "a&b@ł", 7, "import-12", *days)
    assert read_filter(dict(parse_qsl(chosen.query()[1:]))) == chosen
    assert chosen.import_id == 12
    assert ReaderFilter().query() == "?"


@pytest.mark.parametrize(
    "parameters",
    [
        {"state": "x", "tag": "x", "source": "x", "since": "x", "until": "2026-02-30"},
        {"tag": "9" * 12, "source": "import-", "since": "", "q": " \0 "},
        {"tag": "²", "source": "import-x"},
    ],
)
def test_an_unreadable_filter_selects_all_readers(parameters: dict[str, str]) -> None:
    assert read_filter(parameters) == ReaderFilter()


@pytest.mark.django_db
def test_each_filter_finds_its_readers_and_they_combine() -> None:
    fair = SubscriberImportFactory()
    birds = Tag.objects.create(name="Birds").pk
    plain = SubscriberFactory(email="plain@example.org")
    tagged = SubscriberFactory(email="tagged@example.org", tags=[birds], source="desk")
    both = {"source": "import", "subscriber_import": fair, "tags": [birds]}
    imported = SubscriberFactory(email="imported@example.org", state="pending", **both)
    # This time is on 3 March in Lisbon and in UTC.
    at = datetime(2026, 3, 3, 23, 59, tzinfo=UTC)
    Subscriber.objects.filter(pk=plain.pk).update(created_at=at)
    day, before, after = date(2026, 3, 3), date(2026, 3, 2), date(2026, 3, 4)
    found = {
        ReaderFilter(tag=birds): [tagged, imported],
        ReaderFilter(tag=birds, state="pending"): [imported],
        ReaderFilter(tag=birds, text="tagged"): [tagged],
        ReaderFilter(source="desk"): [tagged],
        ReaderFilter(source="sign-up"): [plain],
        ReaderFilter(source="import"): [imported],
        ReaderFilter(source=f"import-{fair.pk}"): [imported],
        ReaderFilter(source=f"import-{fair.pk + 1}"): [],
        ReaderFilter(since=day, until=day): [plain],
        ReaderFilter(until=before): [],
        ReaderFilter(since=after): [tagged, imported],
        ReaderFilter(since=date.min, until=date.max): [plain, tagged, imported],
    }
    results = {one: list(matching_readers(one).order_by("id")) for one in found}
    assert results == found
    # The counts are for each state, whatever state is chosen.
    counts = count_by_state(ReaderFilter(tag=birds, state="bounced"))
    assert counts == dict.fromkeys(Subscriber.State.values, 0) | {"confirmed": 1, "pending": 1}


@pytest.mark.django_db(transaction=True)
def test_a_count_that_takes_too_long_is_left_out(window: WindowOf) -> None:
    SubscriberFactory(name="Ada")
    with connections.create_connection("default").cursor() as cursor, transaction.atomic():
        cursor.execute("BEGIN")
        cursor.execute("LOCK TABLE subscriber IN ACCESS EXCLUSIVE MODE")
        assert count_by_state(ReaderFilter(text="ada")) is None
        cursor.execute("ROLLBACK")
        cursor.connection.close()


@pytest.mark.django_db
def test_the_list_shows_its_filters_and_keeps_them(window: WindowOf) -> None:
    birds = Tag.objects.create(name="Birds")
    SubscriberFactory.create_batch(51, tags=[birds.pk])
    fair = SubscriberImportFactory(filename="fair.csv", rows=1, added=1)
    page = window.get(f"{READERS}?tag={birds.pk}&since=2026-01-01")
    assert f'<option value="{birds.pk}" selected>Birds' in page.html
    assert f'<option value="import-{fair.pk}">Import {fair.pk}: fair.csv' in page.html
    assert "All 51 readers that match" in page.words
    assert f"?state=pending&amp;tag={birds.pk}&amp;since=2026-01-01" in page.html
    nobody = window.get(f"{READERS}?tag={birds.pk}&source=api")
    assert "No reader matches all of these filters." in nobody.words

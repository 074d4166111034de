"""The whole list of each product arrives as that product means it."""

import json
from collections import Counter

import pytest

from delivery.models import Delivery
from subscribers.confirmed_readers import confirmed
from subscribers.models import ConsentRecord, Subscriber, Tag
from subscribers.models.subscriber_import import RESULTS
from tests.subscribers.conftest import ImportRows
from tests.subscribers.importing.file_format.test_status import results_by_address
from tests.subscribers.importing.move.product_exports import GONE, PRODUCTS, ROWS, export_of

pytestmark = pytest.mark.django_db

WITHOUT_TAGS = ("substack", "listmonk")
WITHOUT_NAMES = ("substack", "buttondown")


@pytest.mark.parametrize("product", PRODUCTS)
def test_all_readers_arrive_with_status_tags_and_date(
    import_rows: ImportRows, product: str
) -> None:
    export = export_of(product)
    name, content = export.upload
    printed = import_rows(content=content, name=name, options=("--confirmed",))
    summaries = [json.loads(line) for line in printed.lines if line.startswith("{")]
    assert len(summaries) == len(export.files)
    counts = Counter({kind: sum(one[kind] for one in summaries) for kind in RESULTS})

    results = {reader.email: reader.case.result for reader in export.readers}
    assert results_by_address() == results
    assert counts.total() == len(results) == ROWS
    by_result = Counter(results.values())
    added = by_result["confirmed"] + by_result["pending"]
    gone = sum(by_result[result] for result in GONE)
    assert +counts == +Counter(added=added, skipped=gone, rejected=by_result["rejected"])
    mailed = {email for email, result in results.items() if result == "confirmed"}
    assert set(confirmed().values_list("email", flat=True)) == mailed
    asked = {email for email, result in results.items() if result == "pending"}
    assert set(Delivery.objects.values_list("address", flat=True)) == asked

    names = dict(Tag.objects.values_list("id", "name"))
    signed_up = dict(ConsentRecord.objects.values_list("subscriber_id", "detail"))
    readers = {reader.email: reader for reader in export.readers}
    for subscriber in Subscriber.objects.all():
        reader = readers[subscriber.email]
        tags = [] if product in WITHOUT_TAGS else reader.tags
        assert sorted(names[tag] for tag in subscriber.tags) == sorted(tags)
        assert subscriber.name == ("" if product in WITHOUT_NAMES else reader.name)
        assert reader.at("Signed up there on %Y-%m-%d") in signed_up[subscriber.pk]
        assert subscriber.confirmed_at == (
            reader.since if reader.case.result == "confirmed" else None
        )

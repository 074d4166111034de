"""A complete export of readers is imported into another Homing."""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.management import call_command
from django.db import connection

from subscribers.consent.consent_log import record_consent
from subscribers.models import (
    ConsentRecord,
    ReaderFieldDefinition,
    Subscriber,
    SubscriberImport,
    Suppression,
    Tag,
)
from tests.publishing.author_browser import WindowOf
from tests.subscribers.conftest import ImportSubscribers
from tests.subscribers.factories import SOME_DAY, SubscriberFactory, SuppressionFactory, the_list
from tests.subscribers.importing.import_browser import run_workers, upload

pytestmark = pytest.mark.django_db(transaction=True)

OWN_WORDS = ["suppressed_by", "reader", "confirmed", "unsubscribed", "signed_up", "import"]
VALUES = {"city": "York, UK", **{key: f"own {key}" for key in OWN_WORDS}}


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Export a list with readers, fields and tags of all kinds, then empty Homing."""
    ReaderFieldDefinition.objects.create(key="city", label="Town", fallback="afar", position=1)
    # These fields have keys that are also names of columns in the files of the export.
    for position, key in enumerate(OWN_WORDS, 2):
        ReaderFieldDefinition.objects.create(key=key, label="Own", position=position)
    vip = Tag.objects.create(name="VIP, old").pk
    walks = Tag.objects.create(name="Walks", is_topic=True, description="On Sundays").pk
    ada = SubscriberFactory(
        email="ada@x.org", name="=Ada", fields=VALUES, tags=[vip], left_topics=[walks]
    )
    record_consent(ada.pk, "asked", "form", request=1, detail="On paper")
    record_consent(ada.pk, "confirmed", "link", request=1, network="192.0.2.0/24")
    for state in ("pending", "unsubscribed", "bounced", "complained"):
        SubscriberFactory(email=f"{state}@x.org", state=state)
    SubscriberFactory(email="Shut@x.org")
    SuppressionFactory(address_key="shut@x.org", reason="manual", origin="operator")
    SuppressionFactory(address_key="back@x.org", lifted_at=SOME_DAY)
    path = tmp_path / "all.zip"
    call_command("export_all", str(path), verbosity=0)
    call_command("export_subscribers", str(tmp_path / "list.csv"), verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE subscriber, consent_record, suppression, tag, reader_field, reader_total"
            " CASCADE"
        )
    return path


def check_that_all_is_here() -> None:
    field, *others = ReaderFieldDefinition.objects.order_by("position")
    assert [other.key for other in others] == OWN_WORDS
    assert (field.key, field.label, field.fallback) == ("city", "Town", "afar")
    tags = {tag.name: tag for tag in Tag.objects.all()}
    assert (tags["Walks"].is_topic, tags["Walks"].description) == (True, "On Sundays")
    ada = Subscriber.objects.get(email="ada@x.org")
    assert (ada.state, ada.name, ada.fields) == ("confirmed", "=Ada", VALUES)
    assert (ada.tags, ada.left_topics) == ([tags["VIP, old"].pk], [tags["Walks"].pk])
    assert ada.confirmed_at == SOME_DAY
    detail = ConsentRecord.objects.get(subscriber=ada).detail
    day = r"\d{4}-\d\d-\d\d"
    assert re.search(
        rf"; {day} confirmed link 192\.0\.2\.0/24; {day} asked form \(On paper\)$", detail
    )
    assert Subscriber.objects.get(email="pending@x.org").state == "pending"
    assert Subscriber.objects.count() == 2
    suppressed = dict(Suppression.objects.values_list("address_key", "reason"))
    assert suppressed == {
        "unsubscribed@x.org": "unsubscribe",
        "bounced@x.org": "bounce",
        "complained@x.org": "complaint",
        "shut@x.org": "manual",
    }


def test_the_command_reads_an_export_back(
    export: Path, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(export, "--dry-run")
    assert not Tag.objects.exists()
    import_subscribers(export, "--confirmed", "--consent", "Moved")
    check_that_all_is_here()
    again = import_subscribers(export, "--confirmed", "--consent", "Moved")
    assert again.summary["created"] is False


@pytest.mark.parametrize("name", ["readers.csv", "list.csv"])
def test_readers_alone_bring_back_nobody_who_is_suppressed(
    export: Path, name: str, import_subscribers: ImportSubscribers
) -> None:
    with ZipFile(export) as archive:
        archive.extract("readers.csv", export.parent)
    printed = import_subscribers(export.with_name(name), "--confirmed", "--consent", "Moved")
    states = {email: state for email, (_, state) in the_list().items()}
    assert states == {"ada@x.org": "confirmed", "pending@x.org": "pending"}
    assert Suppression.objects.get(address_key="shut@x.org").reason == "manual"
    assert "Homing readers" in printed.text


def test_the_page_reads_an_export_back(export: Path, window: WindowOf) -> None:
    answer = upload(window, export.read_bytes(), "all.zip")
    page = window.get(str(answer.answer.headers["Location"]))
    assert "Fields and tags of the other Homing were added: Town, " in page.words
    assert ", VIP, old and Walks." in page.words
    run_workers()
    for record in SubscriberImport.objects.order_by("id"):
        address = f"/admin/newsletters/imports/{record.pk}/import/"
        window.post(address, consent="elsewhere", states_it="yes", where="Moved")
    run_workers()
    check_that_all_is_here()

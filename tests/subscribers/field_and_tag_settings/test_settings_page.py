"""Authors define fields and tags. Deleted tags and fields disappear from readers."""

import uuid

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now

from delivery.mail.merge_fields import BODY_FIELDS
from delivery.models import Edition
from delivery.reader_fields import READER_FIELDS
from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.field_and_tag_settings import change_fields_and_tags
from subscribers.field_and_tag_settings.field_and_tag_forms import TagForm
from subscribers.importing.file_format.recognise_columns import targets
from subscribers.models import DeletedFieldOrTag, ReaderFieldDefinition, Subscriber, Tag
from tests.publishing.author_browser import WindowOf
from tests.publishing.second_connection import at_once
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS = "/admin/newsletters/settings/"
FIELDS, TAGS = f"{SETTINGS}fields/", f"{SETTINGS}tags/"


def keys() -> list[str]:
    return [field.key for field in ReaderFieldDefinition.objects.order_by("position")]


def remove_all() -> None:
    while change_fields_and_tags.remove_chunk():
        pass


def test_a_field_is_added_edited_moved_and_deleted(window: WindowOf) -> None:
    assert "There are no fields of your own yet." in window.get(SETTINGS).words
    window.post(f"{FIELDS}add/", label="Home town", fallback="your town")
    window.post(f"{FIELDS}add/", label="Plan", key="plan", on_form="on")
    assert keys() == ["home_town", "plan"]
    window.post(f"{FIELDS}plan/move/", to="up")
    window.post(f"{FIELDS}plan/move/", to="up")
    assert keys() == ["plan", "home_town"]
    window.post(f"{FIELDS}plan/", label="Tariff", fallback="free")
    assert ReaderFieldDefinition.objects.get(key="plan").label == "Tariff"
    reader = SubscriberFactory(fields={"plan": "gold", "home_town": "Łódź"})
    assert "1 reader has a value for this field." in window.get(f"{FIELDS}plan/delete/").words
    window.post(f"{FIELDS}plan/delete/")
    assert "still being removed" in window.post(f"{FIELDS}add/", label="Plan").words
    remove_all()
    reader.refresh_from_db()
    assert (keys(), reader.fields) == (["home_town"], {"home_town": "Łódź"})
    assert not DeletedFieldOrTag.objects.exists()
    logged = [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")]
    assert logged[-1].endswith("deleted field plan.")


@pytest.mark.parametrize(
    ("label", "key", "sentence"),
    [
        ("City", "e-mail", "cannot be a merge field"),
        ("Город", "", "cannot be a merge field"),
        ("Name", "", "already. Choose another word"),
        ("Town", "city", "There is a field “city” already."),
    ],
)
def test_a_bad_key_is_explained(window: WindowOf, label: str, key: str, sentence: str) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    assert sentence in window.post(f"{FIELDS}add/", label=label, key=key).words
    assert keys() == ["city"]


@pytest.mark.parametrize("key", [*BODY_FIELDS, *targets(READER_FIELDS)])
def test_a_word_of_letters_and_imports_names_no_field(window: WindowOf, key: str) -> None:
    page = window.post(f"{FIELDS}add/", label="Own", key=key)
    assert f"Homing uses “{key}” already. Choose another word." in page.words
    assert keys() == []


def test_a_field_added_twice_at_once_is_added_once(window: WindowOf) -> None:
    page = f"{FIELDS}add/"
    added = at_once(*[lambda: window.post(page, label="Town", key="", fallback="")] * 2)
    assert sorted(each.status for each in added) == [200, 303]
    assert keys() == ["town"]


def test_a_name_that_was_taken_meanwhile_is_an_error() -> None:
    form = TagForm({"name": "Fair"})
    assert form.is_valid()
    Tag.objects.create(name="fair")
    assert not form.is_saved()
    assert "There is a tag" in str(form.errors["name"])


def test_there_are_at_most_20_fields(window: WindowOf) -> None:
    ReaderFieldDefinition.objects.bulk_create(
        ReaderFieldDefinition(key=f"f{number}", label="F", position=number)
        for number in range(1, 21)
    )
    assert "which is the limit" in window.post(f"{FIELDS}add/", label="One more").words
    assert len(keys()) == 20


def test_readers_of_fields_and_tags_are_counted(window: WindowOf) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    birds, fish = (Tag.objects.create(name=name).pk for name in ("Birds", "Fish"))
    SubscriberFactory(tags=[birds, fish], fields={"city": "Lyon"})
    SubscriberFactory(tags=[fish], fields={"gone": "x"})
    assert "2 readers" not in window.get(SETTINGS).words
    page = window.get(f"{SETTINGS}?count").words
    assert "{{ city }} – no 1" in page
    assert "Birds 1 reader Fish 2 readers" in page


def test_a_tag_is_added_renamed_and_deleted(window: WindowOf) -> None:
    window.post(f"{TAGS}add/", name=" Birds  and fish ", is_topic="on", description="Weekly")
    tag = Tag.objects.get()
    assert (tag.name, tag.is_topic) == ("Birds and fish", True)
    assert "There is a tag" in window.post(f"{TAGS}add/", name="BIRDS and fish").words
    assert "This field cannot be blank." in window.post(f"{TAGS}add/", name="\u200b").words
    window.post(f"{TAGS}{tag.pk}/", name="Birds")
    having, left = SubscriberFactory(tags=[tag.pk]), SubscriberFactory(left_topics=[tag.pk])
    assert "1 reader has this tag." in window.get(f"{TAGS}{tag.pk}/").words
    window.post(f"{TAGS}{tag.pk}/delete/")
    remove_all()
    assert not Tag.objects.exists()
    for reader in (having, left):
        reader.refresh_from_db()
        assert (reader.tags, reader.left_topics) == ([], [])


def test_a_tag_of_a_scheduled_issue_is_not_deleted(window: WindowOf) -> None:
    tag = Tag.objects.create(name="VIP")
    Edition.objects.create(
        issue_id=uuid.uuid4(),
        version=1,
        title="Swifts",
        text_mail="Gone",
        content_hash=b"",
        control="scheduled",
        scheduled_for=Now(),
        scheduled_local="2026-10-25T07:30",
        scheduled_zone="UTC",
        without_tags=[[tag.pk, "VIP"]],
    )
    window.post(f"{TAGS}{tag.pk}/delete/")
    assert "the scheduled issue “Swifts” uses it" in window.get(SETTINGS).words
    assert Tag.objects.exists()


def test_removal_continues_after_the_last_complete_chunk(
    window: WindowOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_fields_and_tags, "CHUNK", 2)
    tag = Tag.objects.create(name="Birds")
    for _ in range(3):
        SubscriberFactory(tags=[tag.pk])
    window.post(f"{TAGS}{tag.pk}/delete/")
    assert change_fields_and_tags.remove_chunk()
    assert Subscriber.objects.filter(tags=[]).count() == 2
    remove_all()
    assert Subscriber.objects.filter(tags=[]).count() == 3

"""API calls about the author's own fields and the tags of readers."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.models import ReaderFieldDefinition, Subscriber, Tag
from tests.newsletter_site.api_caller import Program
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)
ADA = "ada@posthouse.example.org"


@pytest.fixture
def birds() -> int:
    """Add a field and two tags."""
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    Tag.objects.create(name="Fish")
    return Tag.objects.create(name="Birds", is_topic=True).pk


def fields_and_tags(program: Program, reader: int) -> tuple[str, dict[str, str], list[str]]:
    shown = program.get(f"/readers/{reader}/").json()
    return shown["name"], shown["fields"], shown["tags"]


def test_a_reader_is_added_and_edited_with_fields_and_tags(program: Program, birds: int) -> None:
    body = {"address": ADA, "fields": {"city": " Lyon\u202e "}, "tags": ["\u200fbirds", "Fish"]}
    number = program.post("/readers/", body).json()["reader"]
    assert fields_and_tags(program, number) == ("", {"city": "Lyon"}, ["Birds", "Fish"])
    edit = f"/readers/{number}/"
    assert program.patch(edit, {"name": "\u202eAda", "tags": ["fish"]}).json()["done"] is True
    assert fields_and_tags(program, number) == ("Ada", {"city": "Lyon"}, ["Fish"])
    assert program.patch(edit, {"fields": {"city": ""}}).json()["done"] is True
    assert program.patch(edit, {}).json()["done"] is False
    assert fields_and_tags(program, number) == ("Ada", {}, ["Fish"])
    sentence = f"Edith Marlow edited subscriber {number}."
    assert [plain_sentence_of(entry) for entry in LogEntry.objects.all()].count(sentence) == 2
    assert program.patch("/readers/4711/", {}).status_code == 404


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"fields": {"town": "Lyon"}}, "fields.town"),
        ({"fields": {"city": "x" * 257}}, "fields.city"),
        ({"fields": {"city": 1}}, "fields.city"),
        ({"fields": {"name": "Ada"}}, "fields.name"),
        ({"name": "A\x07"}, "name"),
        ({"tags": ["Bees"]}, "tags"),
        ({"tags": ["Birds"]}, "tags"),
    ],
)
def test_an_invalid_edit_names_the_field(
    program: Program, birds: int, changes: dict[str, Any], field: str
) -> None:
    reader = SubscriberFactory(left_topics=[birds])
    answer = program.patch(f"/readers/{reader.pk}/", changes)
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    reader.refresh_from_db()
    assert reader.edited_at is None


def test_tags_of_many_readers_change_in_one_call(program: Program, birds: int) -> None:
    fish = Tag.objects.get(name="Fish").pk
    plain, left = SubscriberFactory(tags=[fish]), SubscriberFactory(left_topics=[birds])
    body = {"readers": [plain.pk, left.pk, 4711], "add": ["Birds"], "remove": ["Fish"]}
    assert program.post("/readers/tags/", body).json() == {"changed": 1}
    assert Subscriber.objects.get(pk=plain.pk).tags == [birds]
    assert Subscriber.objects.get(pk=left.pk).tags == []
    assert {plain_sentence_of(entry) for entry in LogEntry.objects.all()} >= {
        "Edith Marlow put the tag “Birds” on 3 readers.",
        "Edith Marlow took the tag “Fish” off 3 readers.",
    }


def test_filters_of_the_list_combine(program: Program, birds: int) -> None:
    one = SubscriberFactory(tags=[birds], source="desk").pk
    SubscriberFactory(tags=[birds])
    SubscriberFactory(source="desk")
    query = "tag=birds&source=desk&state=confirmed&since=2026-01-01"
    found = program.get(f"/readers/?{query}").json()["readers"]
    assert [(reader["reader"], reader["came_by"]) for reader in found] == [(one, "desk")]
    assert program.get(f"/readers/?{query}&until=2026-01-01").json()["readers"] == []
    for wrong in ("tag=Bees", "tag=%00", "source=fax", "since=yesterday", "until=0"):
        answer = program.get(f"/readers/?{wrong}")
        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == [wrong.partition("=")[0]]

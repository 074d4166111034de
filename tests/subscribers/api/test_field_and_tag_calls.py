"""API calls about fields and tags follow the rules of the settings page."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.field_and_tag_settings import change_fields_and_tags
from subscribers.models import ReaderFieldDefinition, Tag
from tests.newsletter_site.api_caller import Program
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.field_and_tag_settings.test_settings_page import remove_all

pytestmark = pytest.mark.django_db(transaction=True)


def logged() -> list[str]:
    return [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")]


def test_a_field_is_added_edited_and_deleted(program: Program) -> None:
    added = program.post("/fields/", {"label": "Home town", "fallback": "your town"}, key="one")
    field = {"key": "home_town", "label": "Home town", "fallback": "your town", "on_form": False}
    assert (added.status_code, added.json()) == (201, field)
    place = added.headers["Location"].removeprefix("/api/v1")
    assert program.get(place).json() == field
    again = program.post("/fields/", {"label": "Home town", "fallback": "your town"}, key="one")
    assert (again.status_code, again.content) == (201, added.content)
    edited = program.patch(place, {"on_form": True, "fallback": ""}).json()
    assert edited == {**field, "fallback": "", "on_form": True}
    assert program.get("/fields/").json() == {"fields": [edited]}
    reader = SubscriberFactory(fields={"home_town": "Łódź"})
    assert program.post(place, method="DELETE").json() == {"deleted": True}
    remove_all()
    reader.refresh_from_db()
    assert reader.fields == {}
    for answer in (program.patch(place, {}), program.post(place, method="DELETE")):
        assert answer.status_code == 404
    assert [sentence.split("Edith Marlow ")[1] for sentence in logged()[-3:]] == [
        "added field home_town.",
        "edited field home_town.",
        "deleted field home_town.",
    ]


def test_a_tag_is_added_edited_and_deleted(program: Program) -> None:
    tag = program.post("/tags/", {"name": " Birds \u202e and fish\u200e", "is_topic": True}).json()
    place = f"/tags/{tag['tag']}/"
    assert tag["name"] == "Birds and fish"
    # This name looks the same as the name of the first tag.
    assert program.post("/tags/", {"name": "Birds \u2066and fish\u2069"}).status_code == 400
    assert program.get(place).json() == tag
    edited = program.patch(place, {"name": "Birds"}).json()
    assert edited == {**tag, "name": "Birds", "is_topic": True}
    Tag.objects.create(name="apes")
    assert [each["name"] for each in program.get("/tags/").json()["tags"]] == ["apes", "Birds"]
    reader = SubscriberFactory(tags=[tag["tag"]])
    assert program.post(place, method="DELETE").json() == {"deleted": True}
    remove_all()
    reader.refresh_from_db()
    assert reader.tags == []
    assert program.get(place).status_code == 404
    assert logged()[-1].endswith("deleted tag Birds.")


@pytest.mark.parametrize(
    ("path", "body", "field", "sentence"),
    [
        ("/fields/", {"label": "Town", "key": "city"}, "key", "There is a field “city” already."),
        ("/fields/", {"label": "x" * 61, "key": "x"}, "label", "at most 60 characters"),
        ("/fields/", {"label": "X", "fallback": "a }} b"}, "fallback", "A fallback cannot contain"),
        ("/tags/", {"name": "BIRDS"}, "name", "There is a tag “BIRDS” already."),
        ("/tags/", {"name": "A", "description": "a\x07"}, "description", "control characters"),
    ],
)
def test_the_forms_of_the_page_check_calls(
    program: Program, path: str, body: dict[str, Any], field: str, sentence: str
) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    Tag.objects.create(name="Birds")
    answer = program.post(path, body)
    assert answer.status_code == 400, answer.content
    (error,) = answer.json()["errors"]
    assert (error["field"], sentence in error["detail"]) == (field, True), error
    assert (ReaderFieldDefinition.objects.count(), Tag.objects.count()) == (1, 1)


def test_the_limit_of_fields_and_used_tags_are_refused(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_fields_and_tags, "MOST_FIELDS", 0)
    answer = program.post("/fields/", {"label": "City"})
    assert (answer.status_code, "which is the limit" in answer.json()["detail"]) == (409, True)
    tag = Tag.objects.create(name="Birds")
    monkeypatch.setattr(change_fields_and_tags, "_find_draft", [(lambda _: "Swifts", bool)])
    answer = program.post(f"/tags/{tag.pk}/", method="DELETE")
    assert answer.status_code == 409
    assert "the draft “Swifts” uses it" in answer.json()["detail"]
    assert Tag.objects.exists()

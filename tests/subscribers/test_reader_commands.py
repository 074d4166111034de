"""The commands `fields`, `tags` and `readers`."""

import io
import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from subscribers.models import ConsentRecord, Subscriber, Suppression

ADA = "ada@posthouse.example.org"

pytestmark = pytest.mark.django_db


def run(command: str, *arguments: str) -> Any:
    out = io.StringIO()
    call_command(command, *arguments, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1])


@pytest.fixture(autouse=True)
def author() -> None:
    get_user_model().objects.create_superuser("edith")


def last_actions() -> list[str]:
    return [json.loads(each.change_message)["code"] for each in LogEntry.objects.order_by("id")]


def test_fields_are_added_edited_listed_and_deleted() -> None:
    city = {"key": "city", "label": "City", "fallback": "your town", "on_form": True}
    assert run("fields", "--add", "City", "--fallback", "your town", "--on-form") == city
    changed = city | {"label": "Town", "on_form": False}
    assert run("fields", "--edit", "city", "--label", "Town", "--no-on-form") == changed
    assert run("fields") == {"fields": [changed]}
    assert run("fields", "--delete", "city") == {"deleted": True}
    assert (run("fields"), last_actions()) == ({"fields": []}, ["add", "edit", "delete"])


def test_tags_are_added_edited_listed_and_deleted() -> None:
    fair = run("tags", "--add", "Fair", "--topic", "--description", "Every spring")
    assert run("tags", "--edit", "fair", "--name", "Show", "--no-topic") == fair | {
        "name": "Show",
        "is_topic": False,
    }
    assert [tag["name"] for tag in run("tags")["tags"]] == ["Show"]
    assert run("tags", "--delete", "Show") == {"deleted": True}
    assert (run("tags"), last_actions()) == ({"tags": []}, ["add", "edit", "delete"])


def test_a_tag_in_turkish_is_found_by_its_name() -> None:
    run("tags", "--add", "İki göl")
    assert run("tags", "--delete", " İki  GÖL ") == {"deleted": True}


def test_a_reader_is_added_edited_shown_and_moved() -> None:
    run("fields", "--add", "City")
    run("tags", "--add", "Fair")
    run("tags", "--add", "Walks")
    added = run("readers", ADA, "--add", "--field", "name=Ada", "--tag", "Fair")
    assert (added["state"], added["name"], added["tags"]) == ("pending", "Ada", ["Fair"])
    edited = run("readers", ADA, "--field", "city=York", "--tag", "walks", "--untag", "fair")
    assert (edited["fields"], edited["tags"]) == ({"city": "York"}, ["Walks"])
    assert run("readers", ADA.upper()) == edited
    moved = run("readers", ADA, "--new-address", "ada@orchard.example.org")
    assert (moved["state"], moved["fields"]) == ("pending", {"city": "York"})
    assert Subscriber.objects.get(email=ADA).state == "unsubscribed"
    assert last_actions()[3:] == ["add", "edit", "correct_address", "add"]


def test_stated_consent_is_recorded() -> None:
    assert run("readers", ADA, "--add", "--consent", "Card at the fair")["state"] == "confirmed"
    assert "Card at the fair" in ConsentRecord.objects.get().detail


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fields", "--add", "Name"], "already. Choose another word"),
        (["fields", "--key", "city"], "--key needs --add."),
        (["fields", "--add", "City", "--label", "Town"], "--label needs --edit."),
        (["fields", "--no-on-form"], "--on-form needs --add or --edit."),
        (["tags", "--add", "Fair", "--name", "Show"], "--name needs --edit."),
        (["tags", "--no-topic"], "--topic needs --add or --edit."),
        (["tags", "--add", "\udcff"], "which is not UTF-8"),
        (["readers", "known@x.org", "--tag", "\udcff"], "which is not UTF-8"),
        (["readers", "known@x.org", "--consent", "Fair"], "--consent needs --add."),
        (["readers", "new@x.org", "--add", "--consent", " "], "--consent is empty."),
        (["readers", "new@x.org", "--add", "--untag", "Fair"], "--add takes no --untag."),
        (
            ["readers", "known@x.org", "--new-address", "new@x.org", "--field", "name=A"],
            "--new-address takes no --field",
        ),
        (["tags", "--delete", "Fair"], "There is no tag “Fair”"),
        (["readers", ADA], "No reader has this address."),
        (["readers", "left@x.org"], "It is suppressed: its owner marked a letter as spam."),
        (["readers", ADA, "--add", "--field", "York"], "York is not KEY=VALUE, such as city=York."),
    ],
)
def test_a_refusal_is_one_sentence(arguments: list[str], sentence: str) -> None:
    run("readers", "known@x.org", "--add")
    Suppression.objects.create(address_key="left@x.org", reason="complaint", origin="provider")
    with pytest.raises(CommandError, match=sentence):
        call_command(*arguments)

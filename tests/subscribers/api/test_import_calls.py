"""API calls that upload, check, import and discard a list of readers."""

from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile

from idempotency import claim
from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.models import ReaderFieldDefinition, Subscriber, SubscriberImport, Tag
from tests.newsletter_site.api_caller import API, Program
from tests.subscribers.factories import the_list
from tests.subscribers.importing.file_format.test_files_in_zip import (
    MAILCHIMP,
    SUBSTACK,
    packed,
    zipped,
)
from tests.subscribers.importing.file_format.test_yes_or_no import GHOST
from tests.subscribers.importing.file_format.test_yes_or_no import ROWS as GHOST_ROWS
from tests.subscribers.importing.import_browser import run_workers
from tests.subscribers.importing.test_unstated_subscriptions import LISTMONK, ROWS

pytestmark = pytest.mark.django_db(transaction=True)

LIST = b"email,name\nada@posthouse.example.org,Ada\nbram@posthouse.example.org,Bram\nnobody,X\n"


def upload(program: Program, content: bytes = LIST, key: str = "") -> Any:
    return program.post("/imports/?filename=list.csv", content, key=key, content_type="text/csv")


def upload_in_a_form(program: Program, form: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {program.token}", "Idempotency-Key": "k"}
    return program.client.post(f"{API}/imports/", form, secure=True, headers=headers)


def test_a_checked_file_is_imported_once_consent_is_confirmed(program: Program) -> None:
    brought = upload(program)
    assert brought.status_code == 201, brought.content
    assert (brought.json()["state"], brought.json()["created"]) == ("checking", True)
    place = brought.headers["Location"].removeprefix(API)
    early = program.post(f"{place}import/", {"confirmed": False})
    assert (early.status_code, early.json()["type"]) == (409, "urn:homing:problem:not-now")

    run_workers()
    checked = program.get(place).json()
    assert checked["state"] == "checked"
    assert [checked[name] for name in ("rows", "added", "rejected")] == [3, 2, 1]
    assert not Subscriber.objects.exists()

    decision = {"confirmed": True, "where": "Signed at the fair"}
    decided = program.post(f"{place}import/", decision, key="d")
    assert (decided.status_code, decided.json()["state"]) == (200, "waiting")
    run_workers()
    assert program.get(place).json()["state"] == "finished"
    assert set(Subscriber.objects.values_list("state", flat=True)) == {"confirmed"}
    # A repeated call gets the answer of the first call and imports nothing.
    assert program.post(f"{place}import/", decision, key="d").content == decided.content
    assert [plain_sentence_of(line) for line in LogEntry.objects.order_by("pk")][1:] == [
        "Edith Marlow uploaded list.csv to be checked.",
        "Edith Marlow imported list.csv. How the readers consented: Signed at the fair",
    ]


def test_the_rejected_rows_come_as_csv(program: Program) -> None:
    place = upload(program).headers["Location"].removeprefix(API)
    run_workers()
    answer = program.get(f"{place}rejects.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert lines[0] == "line,reason,email,name"
    assert lines[1].startswith("4,")
    assert ",nobody," in lines[1]


def test_a_repeated_call_imports_nothing_more(program: Program) -> None:
    first = upload(program, key="k")
    assert upload(program, key="k").content == first.content
    other = upload(program, LIST + b"cleo@posthouse.example.org,Cleo\n", key="k")
    assert other.status_code == 422
    assert other.json()["made"] == first.headers["Location"]
    assert SubscriberImport.objects.count() == 1


def test_a_repeated_call_needs_no_field_that_it_named(program: Program) -> None:
    ReaderFieldDefinition.objects.create(key="town", label="Town", position=1)
    address = "/imports/?filename=list.csv&map=name%3Dtown"
    first = program.post(address, LIST, key="k", content_type="text/csv")
    ReaderFieldDefinition.objects.all().delete()
    again = program.post(address, LIST, key="k", content_type="text/csv")
    assert (first.status_code, again.content) == (201, first.content)


def test_same_content_with_another_key_returns_the_same_import(program: Program) -> None:
    first, second = upload(program), upload(program)
    assert (second.status_code, second.json()["created"]) == (200, False)
    assert second.json()["import"] == first.json()["import"]


def test_columns_tags_and_the_lists_of_a_zip_are_taken(program: Program) -> None:
    address = "/imports/?filename=list.csv&map=name%3Dtags&map=1%3Demail"
    first = program.post(address, LIST, key="columns", content_type="text/csv")
    another = address.replace("%3Dtags", "%3D-")
    other = program.post(another, LIST, key="columns", content_type="text/csv")
    assert (first.status_code, other.status_code) == (201, 422)
    run_workers()
    place = first.headers["Location"].removeprefix(API)
    assert program.get(place).json()["tags"] == {"Ada": 1, "Bram": 1}
    wrong = program.post(f"{place}import/", {"confirmed": False, "welcome": True})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "welcome")
    off = {"confirmed": True, "where": "Fair", "welcome": True}
    assert program.post(f"{place}import/", off).json()["errors"][0]["field"] == "welcome"
    decision = {"confirmed": False, "tags": ["Fair"]}
    assert program.post(f"{place}import/", decision).status_code == 200
    run_workers()
    assert program.get("/readers/?limit=1").json()["readers"][0]["tags"] == ["Bram", "Fair"]

    content = zipped(MAILCHIMP)
    packed = upload_in_a_form(program, {"file": SimpleUploadedFile("all.zip", content)})
    assert packed.status_code == 201, packed.content
    assert len(packed.json()["more"]) == 2


def test_a_file_that_takes_long_to_read_is_stored(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "LONGEST_SILENCE", "100ms")
    rows = "".join(f"reader{number}@posthouse.example.org,Reader\n" for number in range(500_000))
    answer = upload(program, b"email,name\n" + rows.encode() + "zoë@x.org,Zoë".encode("cp1252"))
    assert answer.status_code == 201, answer.content


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        ({"file": [LIST, LIST]}, "has: “file”, “file”."),
        ({"file": [LIST, "list.csv"]}, "has: “file”, “file”."),
        ({"file": [LIST], "name": "list.csv"}, "has: “name”, “file”."),
        ({"file": "list.csv"}, "has: “file”."),
        ({}, "The form has: nothing."),
    ],
)
def test_a_form_without_exactly_one_file_is_refused(
    program: Program, beside: dict[str, Any], reason: str
) -> None:
    def sent(one: Any) -> Any:
        if isinstance(one, list):
            return [sent(each) for each in one]
        return SimpleUploadedFile("list.csv", one) if isinstance(one, bytes) else one

    form = {name: sent(given) for name, given in beside.items()}
    answer = upload_in_a_form(program, form)
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:homing:problem:not-valid")
    assert reason in answer.json()["detail"]
    assert not SubscriberImport.objects.exists()


def test_a_file_of_another_kind_is_refused(program: Program) -> None:
    answer = upload(program, b"%PDF-1.7 and so on")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "file"
    assert "PDF" in answer.json()["detail"]
    assert not SubscriberImport.objects.exists()


def test_a_too_large_file_is_refused(program: Program, settings: Any) -> None:
    settings.IMPORT_MAX_MB = 1
    answer = upload(program, b"a" * (1024 * 1024 + 1))
    assert answer.status_code == 413
    assert "IMPORT_MAX_MB" in answer.json()["detail"]
    file = SimpleUploadedFile("list.csv", b"a" * (1024 * 1024 + 1))
    assert upload_in_a_form(program, {"file": file}).status_code == 413


def test_a_checked_file_can_be_discarded(program: Program) -> None:
    place = upload(program).headers["Location"].removeprefix(API)
    run_workers()
    dropped = program.post(f"{place}drop/", key="d")
    assert (dropped.status_code, dropped.json()["dropped"]) == (200, True)
    assert program.post(f"{place}drop/", key="d").content == dropped.content
    assert program.get(place).status_code == 404


def test_imports_are_paged_newest_first(program: Program) -> None:
    made = [
        upload(program, b"email\n%d@posthouse.example.org\n" % number).json()["import"]
        for number in range(3)
    ]
    first = program.get("/imports/?limit=2").json()
    rest = program.get(f"/imports/?limit=2&before={first['next']}").json()
    assert [one["import"] for one in first["imports"] + rest["imports"]] == made[::-1]


def test_an_import_is_undone_once(program: Program) -> None:
    place = upload(program).headers["Location"].removeprefix(API)
    early = program.post(f"{place}undo/")
    assert (early.status_code, early.json()["type"]) == (409, "urn:homing:problem:not-now")
    run_workers()
    program.post(f"{place}import/", {"confirmed": True, "where": "Signed at the fair"})
    run_workers()

    first = program.post(f"{place}undo/", key="u")

    assert (first.status_code, first.json()["state"]) == (200, "undoing")
    assert program.post(f"{place}undo/", key="u").content == first.content
    assert program.post(f"{place}undo/").status_code == 409
    run_workers()
    ended = program.get(place).json()
    assert (ended["state"], ended["undo"]["undone"]) == ("undone", 2)
    assert sum(ended["undo"].values()) == ended["added"]
    line = LogEntry.objects.latest("pk")
    assert plain_sentence_of(line) == "Edith Marlow undid the import of list.csv."


def test_an_undo_deletes_tags_and_fields_if_asked(program: Program) -> None:
    Tag.objects.create(name="Old")
    place = upload(program, b"email,tags\nada@example.org,Old\n").headers["Location"]
    place = place.removeprefix(API)
    run_workers()
    program.post(f"{place}import/", {"confirmed": True, "where": "Fair", "tags": ["New"]})
    run_workers()
    assert program.get(place).json()["tags_and_fields"] is None
    wrong = program.post(f"{place}undo/", {"tags": True})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "tags")

    asked = program.post(f"{place}undo/", {"tags_and_fields": True}, key="u")
    assert (asked.status_code, asked.json()["state"]) == (200, "undoing")
    assert program.post(f"{place}undo/", key="u").status_code == 422
    run_workers()

    ended = program.get(place).json()
    assert ended["tags_and_fields"] == {"deleted": ["New"], "kept": []}
    assert "were deleted: New." in ended["said"]
    assert Tag.objects.get().name == "Old"
    assert LogEntry.objects.get(object_repr="tag New").user == program.person


def test_a_zip_says_that_it_also_has_posts(program: Program) -> None:
    file = SimpleUploadedFile("export.zip", packed(SUBSTACK))
    brought = upload_in_a_form(program, {"file": file}).json()
    run_workers()
    checked = program.get(f"/imports/{brought['import']}/").json()
    assert (brought["posts"], checked["posts"]) == (1, 1)
    assert checked["notes"] == ["A Substack file leaves out most readers who unsubscribed."]
    assert "Ignored: “active_subscription”" in checked["read_as"]


def test_columns_of_paying_readers_are_offered_as_tags(program: Program) -> None:
    content = "\n".join((GHOST, *GHOST_ROWS, "")).encode()
    place = upload(program, content).headers["Location"].removeprefix(API)
    run_workers()
    checked = program.get(place).json()
    assert checked["statuses"] == {"subscribed": 3, "unsubscribed": 1}
    assert checked["offered"] == [
        {"map": "5=tag:complimentary", "tag": "complimentary", "rows": 1},
        {"map": "6=tag:paid", "tag": "paid", "rows": 1},
    ]
    again = f"/imports/?filename=list.csv&map={quote(checked['offered'][1]['map'])}"
    place = program.post(again, content, content_type="text/csv").headers["Location"]
    run_workers()
    assert program.get(place.removeprefix(API)).json()["tags"] == {"VIP": 1, "paid": 1}


def test_the_api_takes_the_statement_for_such_files_only(program: Program) -> None:
    stated = {"confirmed": True, "where": "Weekly", "list_is_confirmed": True}
    for content, status in (
        (b"email,status\nbo@example.org,subscribed\n", 400),
        ("\n".join((LISTMONK, *ROWS)).encode(), 200),
    ):
        place = upload(program, content).headers["Location"].removeprefix(API)
        run_workers()
        checked = program.get(place).json()
        assert program.post(f"{place}import/", stated).status_code == status
    run_workers()
    assert (checked["statuses"], checked["unstated"]) == ({"blocked": 2, "unstated": 1}, 1)
    assert "does not say whether a reader confirmed" in checked["notes"][-1]
    assert program.get(place).json()["list_is_confirmed"] is True
    half = program.post(f"{place}import/", {"confirmed": False, "list_is_confirmed": True})
    assert half.json()["errors"][0]["field"] == "list_is_confirmed"
    assert the_list() == {"ada@example.org": ("ada", "confirmed")}

"""API calls that show, add and erase readers."""

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection, transaction

from delivery.models import Delivery, Edition
from delivery.reader_fields import FIELD_NAMES
from idempotency.models import PostedForm
from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.confirmed_readers import confirmed
from subscribers.data_requests.erase import erase
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.desk.add_or_edit_reader import AddResult, add_reader
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.desk.reader_list import iter_readers
from subscribers.desk.readers_csv import csv_lines
from subscribers.models import ConsentRecord, Subscriber
from tests.failed_statements import failed_statements
from tests.newsletter_site.api_caller import Program
from tests.publishing.second_connection import PATIENCE_S, beside
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory
from tests.subscribers.importing.import_processes import wait_until_blocked
from tests.subscribers.signup_browser import press

pytestmark = pytest.mark.django_db(transaction=True)

ADA = "ada@posthouse.example.org"
NO_VALUES = dict.fromkeys(FIELD_NAMES, "")


def mails() -> int:
    return Delivery.objects.filter(
        issue__in=Edition.objects.filter(kind=Edition.Kind.CONFIRMATION).values("issue")
    ).count()


def test_an_added_reader_gets_no_letter_before_confirming(program: Program) -> None:
    answer = program.post("/readers/", {"address": "Ada@POSTHOUSE.example.org", "name": "Ada"})

    assert answer.status_code == 201
    reader = Subscriber.objects.get()
    assert answer.json() == {
        "result": "added",
        "reader": reader.pk,
        "state": "pending",
        "reason": "",
    }
    assert (reader.email, reader.name) == ("Ada@posthouse.example.org", "Ada")
    line = ConsentRecord.objects.get()
    assert (line.act, line.how, line.request) == ("asked", "api", 1)
    assert line.detail == "Requested by Edith Marlow."
    assert mails() == 1
    assert not confirmed().exists()

    press(reader)
    assert confirmed().count() == 1


def test_stated_consent_confirms_and_records_who_stated_it(program: Program) -> None:
    answer = program.post(
        "/readers/", {"address": ADA, "confirmed": True, "where": "Signed at the fair"}
    )
    assert (answer.status_code, answer.json()["state"]) == (201, "confirmed")
    line = ConsentRecord.objects.get()
    assert (line.act, line.how) == ("stated", "api")
    assert line.detail == "Consent given elsewhere, stated by Edith Marlow: Signed at the fair"
    assert mails() == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"address": ADA, "confirmed": True}, "where"),
        ({"address": ADA, "where": "at the fair"}, "where"),
        ({"address": "ada at home"}, "address"),
        ({"address": ADA, "name": "A\x07B"}, "name"),
        ({"address": ADA, "surname": "B"}, "surname"),
        ({"address": ADA, "confirmed": "yes"}, "confirmed"),
        ({"name": "Ada"}, "address"),
        ({"address": f"{ADA}\0"}, "address"),
        ({"address": "\ud800"}, "address"),
    ],
)
def test_an_invalid_call_names_the_field(
    program: Program, body: dict[str, Any], field: str
) -> None:
    answer = program.post("/readers/", body)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert not Subscriber.objects.exists()
    assert not PostedForm.objects.exists()


def test_a_known_reader_is_unchanged(program: Program) -> None:
    reader = SubscriberFactory(email=ADA, state="pending", name="Ada W.")
    answer = program.post(
        "/readers/", {"address": ADA.upper(), "name": "X", "confirmed": True, "where": "said so"}
    )
    assert (answer.status_code, answer.json()["result"]) == (200, "known")
    reader.refresh_from_db()
    assert (reader.state, reader.name) == ("pending", "Ada W.")
    assert mails() == 0


@pytest.mark.parametrize("state", ["unsubscribed", "bounced", "complained"])
def test_a_gone_reader_is_skipped_with_a_reason(program: Program, state: str) -> None:
    reader = SubscriberFactory(email=ADA, state=state)
    answer = program.post("/readers/", {"address": ADA, "confirmed": True, "where": "said so"})
    assert (answer.status_code, answer.json()["result"]) == (200, "skipped")
    assert answer.json()["reason"]
    reader.refresh_from_db()
    assert reader.state == state


def test_a_suppressed_or_erased_reader_is_skipped(program: Program) -> None:
    SuppressionFactory(address_key="shut@posthouse.example.org")
    body = {"confirmed": True, "where": "said so"}
    shut = program.post("/readers/", {"address": "shut@posthouse.example.org", **body})
    assert shut.json()["result"] == "skipped"
    erase(SubscriberFactory(email=ADA).pk)
    gone = program.post("/readers/", {"address": ADA, **body})
    assert gone.json() == {
        "result": "skipped",
        "reader": None,
        "state": None,
        "reason": "This reader had their data erased. Only they can sign up again.",
    }
    assert not Subscriber.objects.exists()


def test_readers_are_paged_newest_first(program: Program) -> None:
    made = [SubscriberFactory(state=state).pk for state in ("confirmed", "pending", "confirmed")]
    first = program.get("/readers/?limit=2").json()
    rest = program.get(f"/readers/?limit=2&before={first['next']}").json()
    assert [reader["reader"] for reader in first["readers"] + rest["readers"]] == made[::-1]
    pending = program.get("/readers/?state=pending").json()
    assert [reader["reader"] for reader in pending["readers"]] == [made[1]]


def test_a_lookup_keeps_the_address_out_of_the_url(program: Program) -> None:
    reader = SubscriberFactory(email=ADA)
    found = program.post("/readers/look-up/", {"address": f"\u202a{ADA.upper()}\u200b"}, key=None)
    assert (found.status_code, found.json()["reader"]) == (200, reader.pk)
    nobody = program.post("/readers/look-up/", {"address": f"x{ADA}"}, key=None)
    assert nobody.status_code == 404


def test_a_program_can_perform_desk_actions_once(program: Program) -> None:
    reader = SubscriberFactory(email=ADA)
    left = program.post(f"/readers/{reader.pk}/unsubscribe/", key="u")
    assert left.json() == {"reader": reader.pk, "done": True, "state": "unsubscribed"}
    assert program.post(f"/readers/{reader.pk}/unsubscribe/", key="u").content == left.content
    again = program.post(f"/readers/{reader.pk}/unsubscribe/")
    assert again.json()["done"] is False
    lines = [plain_sentence_of(line) for line in LogEntry.objects.order_by("pk")]
    assert lines.count(f"Edith Marlow unsubscribed subscriber {reader.pk}.") == 1


def test_a_program_corrects_an_address_once(program: Program) -> None:
    place = f"/readers/{SubscriberFactory(email='adda@x.org').pk}/new-address/"
    first = program.post(place, {"address": ADA}, key="k")
    again = program.post(place, {"address": ADA}, key="k")
    assert (first.status_code, again.content) == (201, first.content)
    readers = Subscriber.objects.order_by("id").values_list("email", "state")
    assert [*readers] == [("adda@x.org", "unsubscribed"), (ADA, "pending")]
    assert mails() == 1
    refused = program.post(place, {"address": "new@x.org"})
    assert (refused.status_code, mails()) == (409, 1)


def test_saved_answers_contain_nothing_about_an_erased_reader(program: Program) -> None:
    program.post("/readers/", {"address": ADA, "name": "Ada"}, key="a")
    reader = Subscriber.objects.get()
    program.post(f"/readers/{reader.pk}/block/")
    erased = program.post(f"/readers/{reader.pk}/erase/", key="e")
    assert erased.json() == {"reader": reader.pk, "done": True, "state": None}
    with connection.cursor() as cursor:
        cursor.execute("SELECT idempotency::text, response_body FROM idempotency")
        kept = str([(row, bytes(body)) for row, body in cursor.fetchall()]).lower()
    assert ADA not in kept
    assert "posthouse" not in kept
    assert program.post(f"/readers/{reader.pk}/erase/", key="e").content == erased.content
    assert program.post(f"/readers/{reader.pk}/erase/").status_code == 404


def test_downloading_personal_data_is_logged(program: Program) -> None:
    reader = SubscriberFactory(email=ADA)
    record = program.get(f"/readers/{reader.pk}/record/")
    assert record.json()["address"] == ADA
    assert plain_sentence_of(LogEntry.objects.latest("pk")) == (
        f"Edith Marlow downloaded the data of subscriber {reader.pk}."
    )


@pytest.mark.parametrize("stated", [{}, {"confirmed": True, "where": "Signed at the fair"}])
def test_a_reader_added_by_a_program_did_not_sign_up(
    program: Program, stated: dict[str, Any]
) -> None:
    number = program.post("/readers/", {"address": ADA, **stated}).json()["reader"]

    assert program.get(f"/readers/{number}/").json()["came_by"] == "API"
    exported = list(csv.DictReader(io.StringIO("".join(csv_lines(iter_readers(ReaderFilter()))))))
    assert [line["came_by"] for line in exported] == ["API"]
    record = load_personal_data(number)
    assert record is not None
    assert json.loads(record.as_json())["came_by"] == "api"
    assert describe(record)["source"] == "Added by a program"


def test_adding_a_reader_twice_logs_no_database_error(database_url: str) -> None:
    mona = get_user_model().objects.create_user("mona")

    def second() -> tuple[AddResult, list[DatabaseError]]:
        with failed_statements() as failed:
            return add_reader(ADA.upper(), NO_VALUES, by=mona), failed

    with transaction.atomic():
        first = add_reader(ADA, NO_VALUES, by=mona)
        waiting = beside(second)
        wait_until_blocked(database_url, "transactionid", "%subscriber%")
    other, failed = waiting.result(PATIENCE_S)

    assert (first.result, other.result) == ("added", "known")
    assert first.reader == other.reader == Subscriber.objects.get()
    assert failed == []

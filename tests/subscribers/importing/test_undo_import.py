"""The undo of an import: who is removed, who stays, and concurrent work."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.db.utils import IntegrityError

from delivery.models import Batch, Delivery, Edition
from delivery.reports.audit import find_violations
from delivery.tasks.periodic_task_lease import TaskInterruptedError
from delivery.tasks.run_leased_task import ClaimedTask, claim
from publishing.models import Draft
from subscribers.data_requests.erase import erase
from subscribers.importing import undo_import
from subscribers.importing.import_task import run_next_import
from subscribers.importing.undo_import import find_made, run_undo, start_undo
from subscribers.leaving.leave import leave
from subscribers.models import (
    ConsentRecord,
    ReaderFieldDefinition,
    Subscriber,
    SubscriberImport,
    Suppression,
    Tag,
)
from subscribers.models.consent_record import OF_FORMS
from tests.delivery.conftest import newsroom, provider
from tests.delivery.edition_factory import Newsroom
from tests.publishing.author_browser import WindowOf
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits
from tests.subscribers.conftest import FileOf, ImportRows, ImportSubscribers
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory
from tests.subscribers.importing.import_browser import run_workers, uploaded
from tests.subscribers.search_all_tables import tables_that_hold
from tests.subscribers.signup_browser import get_current, press, sign_up

__all__ = ["newsroom", "provider"]

pytestmark = pytest.mark.django_db(transaction=True)

KEPT_NOBODY = {"kept_mailed": 0, "kept_opted_in": 0, "kept_changed": 0, "deleted": 0}


def undo(printed: Any) -> dict[str, int]:
    """Undo an import, found by its command's output; return the counts of the undo."""
    out = io.StringIO()
    call_command("undo_import", str(printed.summary["import"]), stdout=out, stderr=io.StringIO())
    counts = dict(json.loads(out.getvalue().splitlines()[-1]))
    assert counts.pop("import") == printed.summary["import"]
    assert counts.pop("added") == sum(counts.values()) == printed.summary["added"]
    return {name: count for name, count in counts.items() if count}


def on_the_list() -> list[str]:
    return list(Subscriber.objects.order_by("id").values_list("email", flat=True))


@pytest.mark.parametrize("options", [(), ("--confirmed",)])
def test_an_undone_import_leaves_nothing_and_can_be_repeated(
    file_of: FileOf, import_subscribers: ImportSubscribers, options: tuple[str, ...]
) -> None:
    SubscriberFactory(email="known@example.org")
    path = file_of("ada@example.org,Rosamund", "known@example.org,", "bob@example.org,Bob")
    first = import_subscribers(path, *options)

    assert undo(first) == {"undone": 2}

    assert on_the_list() == ["known@example.org"]
    assert tables_that_hold("ada@example.org") == tables_that_hold("Rosamund") == []
    assert not ConsentRecord.objects.exists()
    assert undo(first) == {"undone": 2}  # A second undo reports the first.
    again = import_subscribers(path, *options)
    assert (again.summary["created"], again.counts) == (True, {"added": 2, "known": 1})
    assert again.summary["import"] != first.summary["import"]


@pytest.mark.parametrize("form", OF_FORMS)
def test_mailed_opted_in_and_changed_readers_stay(import_rows: ImportRows, form: str) -> None:
    names = ("opens", "asks", "leaves", "renamed", "blocked", "erased", "forgotten", "idle")
    printed = import_rows(*[f"{name}@example.org,X" for name in names])
    press(get_current("opens@example.org"))
    sign_up("asks@example.org", how=form)
    leave(get_current("leaves@example.org").pk)
    Subscriber.objects.filter(email="renamed@example.org").update(name="Y")
    blocked = get_current("blocked@example.org")
    ConsentRecord.objects.create(subscriber=blocked, act="blocked", how="operator")
    erase(get_current("erased@example.org").pk)
    Subscriber.objects.filter(email="forgotten@example.org").delete()

    assert undo(printed) == {"undone": 1, "kept_opted_in": 2, "kept_changed": 3, "deleted": 2}

    assert on_the_list() == [f"{name}@example.org" for name in names[:5]]


def test_suppressions_of_the_file_stay(import_rows: ImportRows) -> None:
    rows = ("ada@example.org,A,active", "bob@example.org,B,bounced")
    printed = import_rows(*rows, header="email,name,status")

    assert undo(printed) == {"undone": 1}

    assert Suppression.objects.get().address_key == "bob@example.org"
    again = import_rows(*rows, header="email,name,status")
    assert again.counts == {"added": 1, "skipped": 1}


@pytest.mark.parametrize(
    ("batch", "copy", "counts"),
    [
        ({}, {}, {"undone": 1}),
        ({"state": "paused"}, {}, {"undone": 1}),
        ({}, {"outcome": "withdrawn"}, {"undone": 1}),
        ({"state": "parked"}, {}, {"kept_mailed": 1}),
        ({}, {"outcome": "suppressed"}, {"kept_mailed": 1}),
        ({}, {"sent_at": Now()}, {"kept_mailed": 1}),
    ],
)
def test_a_confirmation_counts_from_the_start_of_its_call(
    import_rows: ImportRows, batch: dict[str, Any], copy: dict[str, Any], counts: dict[str, int]
) -> None:
    printed = import_rows("ada@example.org,Ada")
    Batch.objects.update(**batch)
    Delivery.objects.update(**copy)
    assert undo(printed) == counts


def test_the_waiting_confirmation_of_a_reader_taken_back_is_withdrawn(
    newsroom: Newsroom, import_rows: ImportRows
) -> None:
    printed = import_rows("ada@example.org,Ada")
    undo(printed)

    newsroom.deliver_all()

    assert Delivery.objects.get().outcome == "withdrawn"
    edition = Edition.objects.get()
    assert newsroom.sandbox.summary()["accepted"] == 0
    assert find_violations([edition.pk]) == []


def test_a_call_that_starts_first_keeps_its_readers(
    newsroom: Newsroom, import_rows: ImportRows
) -> None:
    printed = import_rows("ada@example.org,Ada")
    with transaction.atomic():
        # Start the batch as `start_batch` does, in a transaction that has not ended yet.
        Batch.objects.update(
            state="sending",
            attempt="5746c21d-e5f7-4e1a-a220-cf610df36c6d",
            owner="5746c21d-e5f7-4e1a-a220-cf610df36c6d",
            lease_until=Now(),
        )
        undoing = beside(lambda: undo(printed))
        wait_until_somebody_waits(undoing)
    assert undoing.result(PATIENCE_S) == {"kept_mailed": 1}


@pytest.mark.parametrize(
    ("outcome", "counts"), [("waiting", {"kept_mailed": 1}), ("withdrawn", {"undone": 1})]
)
def test_withdrawn_copies_do_not_count_as_mailed(
    newsroom: Newsroom, import_rows: ImportRows, outcome: str, counts: dict[str, int]
) -> None:
    printed = import_rows("ada@example.org,Ada", options=("--confirmed",))
    newsroom.publish()
    Delivery.objects.update(outcome=outcome)
    assert undo(printed) == counts
    assert (tables_that_hold("ada@example.org") == []) == (outcome == "withdrawn")


def test_readers_whose_copies_were_dropped_count_as_mailed(
    newsroom: Newsroom, import_rows: ImportRows
) -> None:
    printed = import_rows("ada@example.org,Ada", options=("--confirmed",))
    edition = newsroom.publish()
    Edition.objects.filter(pk=edition.pk).update(deliveries_dropped_at=Now())
    Delivery.objects.all().delete()
    assert undo(printed) == {"kept_mailed": 1}


def test_a_publication_waits_for_a_running_chunk(
    newsroom: Newsroom, import_rows: ImportRows
) -> None:
    import_rows("ada@example.org,Ada", options=("--confirmed",))
    record = SubscriberImport.objects.get()
    start_undo(record.pk)
    task = claim(SubscriberImport)
    assert task is not None
    with transaction.atomic():
        with pytest.raises(TaskInterruptedError):
            run_undo(ClaimedTask(task, lambda: True), lambda _: None)
        publishing = beside(newsroom.publish)
        wait_until_somebody_waits(publishing)
    assert publishing.result(PATIENCE_S).audience == 0


def test_a_reader_who_confirms_during_the_undo_stays(import_rows: ImportRows) -> None:
    printed = import_rows("ada@example.org,Ada")
    with transaction.atomic():
        press(get_current("ada@example.org"))
        undoing = beside(lambda: undo(printed))
        wait_until_somebody_waits(undoing)
    assert undoing.result(PATIENCE_S) == {"kept_opted_in": 1}


@pytest.fixture
def half_undone(import_rows: ImportRows, monkeypatch: pytest.MonkeyPatch) -> SubscriberImport:
    """Undo the first of three chunks, and stop."""
    monkeypatch.setattr(undo_import, "CHUNK", 2)
    printed = import_rows(*[f"reader{number}@example.org,R" for number in range(6)])
    Subscriber.objects.filter(email="reader1@example.org").update(name="Changed")
    assert start_undo(printed.summary["import"])
    assert run_next_import(lambda: True)
    record = SubscriberImport.objects.get()
    assert (record.state, record.undone, record.kept_changed) == ("undoing", 1, 1)
    assert record.owner is None
    return record


def test_a_stopped_undo_continues_from_its_checkpoint(half_undone: SubscriberImport) -> None:
    # Unlike an import, an undo is never given up.
    SubscriberImport.objects.update(claims=SubscriberImport.MOST_CLAIMS)
    assert run_next_import()
    half_undone.refresh_from_db()
    assert half_undone.state == "undone"
    assert half_undone.undo_counts == {**KEPT_NOBODY, "undone": 5, "kept_changed": 1}
    assert on_the_list() == ["reader1@example.org"]
    assert not run_next_import()


def test_a_chunk_without_its_checkpoint_takes_nobody_back(half_undone: SubscriberImport) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE subscriber_import ADD CONSTRAINT crash CHECK (undone < 2)")
    with pytest.raises(IntegrityError):
        run_next_import()
    assert len(on_the_list()) == 5
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE subscriber_import DROP CONSTRAINT crash")
        cursor.execute("UPDATE subscriber_import SET lease_until = NULL")
    assert run_next_import()
    half_undone.refresh_from_db()
    assert half_undone.undo_counts == {**KEPT_NOBODY, "undone": 5, "kept_changed": 1}


def test_an_import_of_the_same_file_first_ends_the_undo(
    half_undone: SubscriberImport, import_subscribers: ImportSubscribers, tmp_path: Path
) -> None:
    again = import_subscribers(tmp_path / "list.csv")
    assert again.counts == {"added": 5, "known": 1}
    half_undone.refresh_from_db()
    assert half_undone.state == "undone"


@pytest.mark.parametrize(
    ("state", "more", "why"),
    [
        ("running", {"finished_at": None}, "The import has not ended yet. Undo it when it has."),
        ("expired", {"confirmed": False}, "The file was not imported, so"),
    ],
)
def test_only_an_ended_import_is_undone(state: str, more: dict[str, Any], why: str) -> None:
    record = SubscriberImportFactory(state=state, **more)
    with pytest.raises(CommandError, match=why):
        call_command("undo_import", str(record.pk))
    with pytest.raises(CommandError, match="There is no import 999999"):
        call_command("undo_import", "999999")


def test_a_refused_import_is_undone_too(import_rows: ImportRows) -> None:
    printed = import_rows("ada@example.org,Ada")
    refusal = {"code": "import_stuck", "parameters": {"times": 10}}
    SubscriberImport.objects.update(state="refused", error=refusal)
    assert undo(printed) == {"undone": 1}


def test_the_database_keeps_changed_readers_from_an_undo(import_rows: ImportRows) -> None:
    printed = import_rows("ada@example.org,Ada", "bob@example.org,Bob", options=("--confirmed",))
    ada, bob = Subscriber.objects.order_by("id")
    Subscriber.objects.filter(pk=ada.pk).update(requests=F("requests") + 1)  # This is no edit.
    Subscriber.objects.filter(pk=bob.pk).update(fields={"city": "Weir"})
    Subscriber.objects.filter(pk=bob.pk).update(edited_at=None)  # has no effect
    with connection.cursor() as cursor:
        cursor.execute("SET homing.undoing = %s", [str(printed.summary["import"])])
        cursor.execute("DELETE FROM subscriber WHERE id = %s", [ada.pk])
        with pytest.raises(IntegrityError, match="nobody is deleted but by erasure"):
            cursor.execute("DELETE FROM subscriber WHERE id = %s", [bob.pk])
    connection.close()


def undo_with_tags_and_fields(number: int) -> SubscriberImport:
    call_command("undo_import", str(number), "--tags-and-fields", stdout=io.StringIO())
    return SubscriberImport.objects.get(pk=number)


def test_an_undo_deletes_unused_tags_that_the_import_made(
    newsroom: Newsroom, import_rows: ImportRows, tmp_path: Path
) -> None:
    Tag.objects.create(name="Old")
    SubscriberFactory(email="known@example.org")
    rows = ("ada@example.org,Free;Old;Topic;Mailed", "known@example.org,Kept")
    printed = import_rows(*rows, header="email,tags", options=("--tag", "All"))
    Tag.objects.filter(name="Topic").update(is_topic=True)
    letter = tmp_path / "letter.html"
    letter.write_text("Hello")
    call_command(
        *("publish", "--title", "T", "--tag", "Mailed", "--author", newsroom.author.username),
        *("--html-file", str(letter), "--text-file", str(letter)),
        stdout=io.StringIO(),
    )
    Tag.objects.filter(name="Mailed").update(name="Renamed")
    record = SubscriberImport.objects.get()
    assert (find_made(record).free, "Old" in find_made(record).used) == (["Free"], False)

    record = undo_with_tags_and_fields(record.pk)

    assert record.unmade["deleted"] == ["Free"]
    assert sorted(record.unmade["kept"]) == ["All", "Kept", "Renamed", "Topic"]
    assert sorted(Tag.objects.values_list("name", flat=True)) == [
        "All", "Kept", "Old", "Renamed", "Topic"
    ]  # fmt: skip
    assert printed.summary["added"] == record.undone == 1


def test_tags_stay_unless_their_deletion_is_chosen(import_rows: ImportRows) -> None:
    printed = import_rows("ada@example.org,Fair", header="email,tags")
    undo(printed)
    assert Tag.objects.get().name == "Fair"


def test_a_reader_who_stays_keeps_the_tag(import_rows: ImportRows) -> None:
    printed = import_rows("ada@example.org,Fair", header="email,tags")
    Subscriber.objects.update(name="Changed")
    record = undo_with_tags_and_fields(printed.summary["import"])
    assert record.unmade == {"deleted": [], "kept": ["Fair"]}


@pytest.mark.parametrize("draft", ["", "Hello {{ user.town }}"])
def test_the_page_offers_to_delete_fields_of_the_import(draft: str, window: WindowOf) -> None:
    address = uploaded(window, b"email,Town\nada@example.org,Wick\n")
    again = window.post(f"{address}columns/", **{"column-2": "new"})
    address = str(again.answer.headers["Location"])
    run_workers()
    window.post(f"{address}import/", consent="ask", tags="Fair")
    run_workers()
    if draft:
        Draft.objects.create(letter=draft, created_by=window.author, saved_by=window.author)
    page = window.get(f"{address}undo/")
    offered = "the import made: Fair" if draft else "the import made: Fair, Town"
    assert offered in page.words

    window.post(f"{address}undo/", made_too="yes")
    run_workers()

    deleted = "Fair." if draft else "Fair and Town."
    assert f"were deleted: {deleted}" in window.get(address).words
    assert ReaderFieldDefinition.objects.exists() == bool(draft)
    assert not Tag.objects.exists()

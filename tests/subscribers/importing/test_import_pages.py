"""Imports on the desk: upload, check, report and decision."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile

from delivery.models import Delivery
from subscribers.importing.import_task import run_next_import
from subscribers.models import (
    ConsentRecord,
    ImportPiece,
    ImportSeenAddress,
    RejectedRow,
    Subscriber,
    SubscriberImport,
    Suppression,
    Tag,
)
from tests.publishing.author_browser import Page, WindowOf
from tests.subscribers.factories import (
    SOME_DAY,
    SubscriberFactory,
    SubscriberImportFactory,
    the_list,
)
from tests.subscribers.importing.import_browser import (
    FAIR,
    IMPORTS,
    run_workers,
    someone,
    upload,
    uploaded,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def window(window: WindowOf) -> WindowOf:
    """Sign Edith in, and add two readers of the file to the list."""
    SubscriberFactory(email="known@example.org")
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    return window


def test_an_upload_shows_the_dry_run_and_changes_nothing(window: WindowOf) -> None:
    before = the_list()

    page = window.get(uploaded(window))

    assert the_list() == before
    assert not ConsentRecord.objects.exists()
    assert not Delivery.objects.exists()
    assert (
        "Dry run: no reader has changed yet. Rows to add: 2 of 6. 1 row would be rejected."
        in page.words
    )
    for words in (
        "Added 2",
        "Known 1",
        "Duplicates 1",
        "Skipped 1 unsubscribed: 1",
        "Rejected 1",
        "Rows 6 total matches",
        "Format Windows-1252, semicolons, with a header, CRLF",
        "Address: “E-Mail”; Name: “Nome”",
        "Ignored: “Ort”",
        "For example lidia.ramos@weir.example.org, Lídia Ramos",
        "so Homing reads it as Windows-1252, which is common in Western Europe.",
        "new: this file is not imported",
        "paul@@orchard.example.org The address has more than one @ sign.",
    ):
        assert words in page.words


def test_an_import_matches_its_check_and_asks_readers_to_confirm(window: WindowOf) -> None:
    address = uploaded(window)
    assert "Import 2 readers and ask them to confirm" in window.get(address).words

    answer = window.post(f"{address}import/", consent="ask")
    run_workers()

    assert answer.status == 303
    page = window.get(address)
    assert "Imported. Rows added: 2 of 6. 1 row was rejected." in page.words
    assert "Rejected 1 see below; the other rows were imported" in page.words
    assert "as pending; each gets one confirmation email" in page.words
    rosa = Subscriber.objects.get(email="rosa@example.org")
    assert (rosa.state, rosa.requests) == ("pending", 1)
    consent = ConsentRecord.objects.get(subscriber=rosa)
    assert (consent.act, consent.how, consent.request, consent.detail) == (
        "imported",
        "import",
        1,
        "",
    )
    assert set(Delivery.objects.values_list("address", "outcome")) == {
        ("lidia.ramos@weir.example.org", "waiting"),
        ("rosa@example.org", "waiting"),
    }


def test_stated_consent_needs_both_checkbox_and_details(window: WindowOf) -> None:
    address = uploaded(window)
    for fields, sentence in (
        ({"states_it": "yes", "where": "  "}, "Enter how they consented."),
        ({"where": "At the fair"}, "Tick the box if these readers consented elsewhere."),
        ({"states_it": "yes", "where": "x" * 301}, "301 characters. At most 300 are allowed."),
    ):
        page = window.post(f"{address}import/", consent="elsewhere", **fields)
        assert page.status == 200
        assert sentence in page.words
        assert SubscriberImport.objects.get().state == "checked"


def test_wrong_characters_are_shown_before_the_import(window: WindowOf) -> None:
    rows = "email,name\nada@example.org,Ada\nzofia@example.org,Zofia Żuraw\n"
    address = uploaded(window, rows.encode("iso8859-2"))
    checked = window.get(address).words
    assert "zofia@example.org, Zofia ¯uraw" in checked
    assert "If a name looks wrong here" in checked

    window.post(f"{address}import/", consent="ask")
    run_workers()

    page = window.get(address).words
    assert "Format Windows-1252" in page
    assert "zofia@example.org" not in page
    assert "If a name looks wrong" not in page
    assert "zofia" not in str(SubscriberImport.objects.get().read_as)


def test_pressing_import_twice_imports_once_and_keeps_the_first_choice(window: WindowOf) -> None:
    address = uploaded(window)

    window.post(f"{address}import/", consent="ask")
    elsewhere = {"consent": "elsewhere", "states_it": "yes", "where": "At the fair"}
    again = window.post(f"{address}import/", **elsewhere, tags="Fair")
    run_workers()

    assert again.status == 303
    assert not Tag.objects.exists()
    record = SubscriberImport.objects.get()
    assert (record.confirmed, record.added) == (False, 2)
    assert record.imported_by == window.author
    assert LogEntry.objects.filter(change_message__contains='"code": "import"').count() == 1


def test_the_same_upload_again_leads_to_the_first_import(window: WindowOf) -> None:
    address = uploaded(window)
    again = upload(window, FAIR, "the same again.csv")
    assert again.answer.headers["Location"] == address
    assert "was uploaded before. It is not imported yet." in window.get(address).words
    window.post(f"{address}import/", consent="ask")
    run_workers()

    assert upload(window, FAIR).answer.headers["Location"] == address
    run_workers()

    page = window.get(address)
    assert "A file with the same content is already imported or being imported." in page.words
    assert "Import 2 readers" not in page.words
    assert ConsentRecord.objects.count() == 2
    assert SubscriberImport.objects.count() == 1


def test_a_bad_file_among_several_keeps_all_out(window: WindowOf) -> None:
    files = [SimpleUploadedFile("a.csv", FAIR), SimpleUploadedFile("b.csv", b"nobody here\n")]
    page = Page(window.client.post(IMPORTS, {"file": files}, secure=True))
    assert "b.csv: " in page.words
    many = [SimpleUploadedFile(f"{n}.csv", b"ada@example.org\n") for n in range(21)]
    page = Page(window.client.post(IMPORTS, {"file": many}, secure=True))
    assert "Choose at most 20 files." in page.words
    assert not SubscriberImport.objects.exists()


def test_a_discarded_file_leaves_only_log_entries(window: WindowOf) -> None:
    address = uploaded(window)

    answer = window.post(f"{address}drop/")

    assert answer.answer.headers["Location"] == IMPORTS
    assert "village-fair.csv was discarded. No reader was imported." in window.get(IMPORTS).words
    for rows in (SubscriberImport, ImportPiece, ImportSeenAddress, RejectedRow):
        assert not rows.objects.exists()
    assert window.get(address).status == 404
    assert window.post(f"{address}drop/").status == 404
    # The same file can be uploaded again and discarded before its check.
    again = upload(window, FAIR).answer.headers["Location"]
    assert again != address
    window.post(f"{again}drop/")
    assert not run_next_import()
    assert not SubscriberImport.objects.exists()


def test_an_imported_file_cannot_be_discarded(window: WindowOf) -> None:
    address = uploaded(window)
    window.post(f"{address}import/", consent="ask")
    answer = window.post(f"{address}drop/")
    assert answer.answer.headers["Location"] == address
    assert SubscriberImport.objects.get().state == "waiting"


def test_imports_are_listed_by_their_start_newest_first(window: WindowOf) -> None:
    SubscriberImportFactory(filename="started last", requested_at=SOME_DAY)
    for name in ("first of two", "second of two"):
        SubscriberImportFactory(filename=name, requested_at=SOME_DAY - timedelta(days=1))
    words = window.get(IMPORTS).words
    names = ("started last", "second of two", "first of two")
    assert sorted(names, key=words.index) == list(names)


def test_the_page_shows_the_progress_of_an_import(window: WindowOf) -> None:
    address = upload(window, FAIR).answer.headers["Location"]

    page = window.get(address)

    assert "This work is waiting for a worker, and none is running." in page.words
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in page.html
    assert "Rows 0 so far" in page.words
    run_workers()
    page = window.get(address)
    assert "Added 2" in page.words
    assert "refresh" not in page.html


def test_data_of_a_newer_release_is_shown(window: WindowOf) -> None:
    address = upload(window, FAIR).answer.headers["Location"]
    run_workers()
    record = SubscriberImport.objects.get()
    record.read_as = {"encoding": "UTF-32", "from_tomorrow": 1}
    record.skipped_because = {"reason_of_tomorrow": 2}
    record.save()
    RejectedRow.objects.update(reason="reason_of_tomorrow", parameters={})
    page = window.get(address)
    assert "UTF-32" in page.words
    assert "Refused (reason_of_tomorrow)." in page.words


def test_rejected_rows_are_paged_and_downloadable(window: WindowOf) -> None:
    rows = [f"=nowhere{number},Nobody" for number in range(120)]
    address = uploaded(window, "\n".join(["email,name", "ada@example.org,Ada", *rows]).encode())

    first = window.get(address)
    last = window.get(f"{address}?after=102")
    file = window.client.get(f"{address}rejects.csv", secure=True)

    assert "50 of 120" in first.words
    assert 'href="?after=52#r"' in first.html
    assert "20 of 120" in last.words
    lines = b"".join(file.streaming_content).decode().splitlines()
    assert len(lines) == 121
    assert lines[0] == "line,reason,email,name"
    assert lines[1].endswith(",'=nowhere0,Nobody")
    assert 'filename="rejected from village-fair.csv"' in file.headers["Content-Disposition"]
    assert file.headers["Cache-Control"] == "no-store"


def test_a_file_that_cannot_be_imported_is_refused(window: WindowOf, settings: Any) -> None:
    settings.IMPORT_MAX_MB = 1
    too_large = b"email,name\n" + b"ada@example.org,Ada\n" * 60_000
    for content, sentence in (
        (b"%PDF-1.7\n", "Homing cannot read this format: a PDF document."),
        (too_large, "The file is larger than the limit of 1 MB."),
    ):
        page = upload(window, content)
        assert page.status == 200
        assert "Nothing was imported. See the message below" in page.words
        assert sentence in page.words
    assert not SubscriberImport.objects.exists()
    assert "Choose a file first." in window.post(IMPORTS).words


def test_the_publishing_form_warns_about_a_running_import(window: WindowOf) -> None:
    both = WindowOf(someone("both", "publish_edition", "manage_readers"))
    address = uploaded(window)
    assert "An import is running" not in both.get().words
    window.post(f"{address}import/", consent="ask")

    page = both.get()

    assert (
        "An import is running: readers whom the import adds after you publish "
        "do not get this issue." in page.words
    )
    assert f'href="{address}"' in page.html
    run_workers()
    assert "An import is running" not in both.get().words


def test_the_page_shows_the_product_and_the_statuses(window: WindowOf) -> None:
    content = (Path(__file__).parents[1] / "exports" / "kit.csv").read_bytes()

    address = uploaded(window, content)

    for words in (
        "Format Kit subscribers: UTF-8, commas, with a header, LF",
        "Status: “state”",
        "Statuses Subscribed: 2; Not confirmed, added as pending: 1; ",
        "Unsubscribed, suppressed: 1; Bounced, suppressed: 1; Marked as spam, suppressed: 1",
        "bounced in the file: 1, marked as spam in the file: 1, unsubscribed in the file: 1",
        "Readers who are not confirmed in the file still get a confirmation email.",
    ):
        assert words in window.get(address).words
    assert "Checked, not imported Kit subscribers, " in window.get(IMPORTS).words
    assert not Suppression.objects.exists()
    window.post(f"{address}import/", consent="elsewhere", states_it="yes", where="At the fair")
    run_workers()
    assert (
        "as confirmed: 2; as pending, asked by email: 1. "
        "Consent given elsewhere, stated by Edith Marlow: At the fair"
    ) in window.get(address).words
    assert Suppression.objects.count() == 3
    assert {email for email, (_, state) in the_list().items() if state == "pending"} == {
        "pending.inactive@orchard.example.org"
    }


def test_the_buttons_count_confirmed_and_pending_readers(window: WindowOf) -> None:
    rows = b"email,status\nada@example.org,pending\n"
    page = window.get(uploaded(window, rows))
    assert "New readers cannot be imported as confirmed, because the file marks none" in page.words
    assert "Added 1 as pending; each gets one confirmation email" in page.words
    assert "reader as confirmed" not in page.words
    page = window.get(uploaded(window, rows + b"bob@example.org,active\n"))
    assert "Import as confirmed: 1, as pending: 1" in page.words


def test_a_file_of_unsubscribed_readers_can_be_imported(window: WindowOf) -> None:
    name = "unsubscribed_members_export_0a1b2c3d4e.csv"
    content = (Path(__file__).parents[1] / "exports" / name).read_bytes()
    address = upload(window, content, name).answer.headers["Location"]
    run_workers()
    page = window.get(address).words
    assert "The file adds no readers. 2 rows name readers who must not be mailed." in page
    assert "Import and suppress" in page
    window.post(f"{address}import/", consent="ask")
    run_workers()
    assert Suppression.objects.count() == 2


def test_a_file_of_known_readers_puts_tags_on_them(window: WindowOf) -> None:
    address = uploaded(window, b"email\nknown@example.org\n")
    assert "Import the tags" in window.get(address).words
    window.post(f"{address}import/", consent="ask", tags="Fair")
    run_workers()
    known = Subscriber.objects.get(email="known@example.org")
    assert known.tags == [Tag.objects.get(name="Fair").pk]


def test_an_import_is_undone_after_a_confirmation(window: WindowOf) -> None:
    address = uploaded(window)
    window.post(f"{address}import/", consent="ask")
    run_workers()
    assert "Undo this import" in window.get(address).words
    asked = window.get(f"{address}undo/").words
    assert "The import added 2 readers. At most 2 are removed." in asked
    assert Subscriber.objects.count() == 4

    assert window.post(f"{address}undo/").status == 303

    assert "Being undone" in window.get(IMPORTS).words
    upload(window, FAIR)
    assert "The import of this file is being undone." in window.get(address).words
    run_workers()
    page = window.get(address).words
    assert "Undone. Added readers removed: 2 of 2." in page
    assert "Removed 2 no longer on the list" in page
    assert Subscriber.objects.count() == 2
    window.post(f"{address}undo/")
    assert "The import was undone before." in window.get(address).words
    assert "The import was undone before." in window.get(f"{address}undo/").words
    assert LogEntry.objects.filter(change_message__contains='"undo"').count() == 1
    assert uploaded(window) != address  # The same file can be imported again.

"""The result of an import for each row of a file."""

import io

import pytest
from django.core.management import call_command

from subscribers.consent.consent_log import record_consent
from subscribers.data_requests.erase import erase
from subscribers.files.file_pieces import LONGEST_PIECE
from subscribers.importing.import_task import CHUNK
from subscribers.models import ImportSeenAddress, RejectedRow, Subscriber, SubscriberImport
from tests.subscribers.conftest import FileOf, ImportRows, ImportSubscribers
from tests.subscribers.factories import (
    SOME_DAY,
    SubscriberFactory,
    SubscriberImportFactory,
    SuppressionFactory,
    the_list,
)
from tests.subscribers.search_all_tables import tables_that_hold
from tests.subscribers.signup_browser import ADA, get_current, press, sign_up

pytestmark = pytest.mark.django_db


def test_rows_become_pending_readers_in_the_order_of_the_file(import_rows: ImportRows) -> None:
    import_rows("zoe@example.org,Ada Whitlock", '"bob@Example.ORG","Smith, Bob"')
    assert list(Subscriber.objects.order_by("id").values_list("email", "name", "state")) == [
        ("zoe@example.org", "Ada Whitlock", "pending"),
        ("bob@example.org", "Smith, Bob", "pending"),
    ]


def test_the_last_line_is_json_that_adds_up(import_rows: ImportRows) -> None:
    SubscriberFactory(email="known@example.org")
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    rows = ["ada@example.org,Ada", "known@example.org,", "ADA@example.org,Ada again"]

    printed = import_rows(*rows, "left@example.org,", "nowhere,", "bob@example.org,Bob")

    record = SubscriberImport.objects.get()
    results = {"added": 2, "known": 1, "duplicates": 1, "skipped": 1, "rejected": 1}
    whole = {"import": record.pk, "created": True, "rows": 6, **results}
    assert list(printed.summary.items()) == list(whole.items())
    assert (record.rows, record.added, record.rejected) == (6, 2, 1)
    assert record.finished_at is not None
    # The report ends with the total.
    lines = printed.lines
    assert lines[0].startswith("list.csv was imported as import ")
    assert lines[1] == "Format: UTF-8, commas, with a header, LF"
    assert lines[2] == "Address: “email”; Name: “name”"
    reported = [line.split()[:2] for line in lines]
    for result, count in {**results, "rows": 6}.items():
        assert [result, str(count)] in reported
    assert "line 6 rejected: nowhere: The address has no @ sign." in lines


@pytest.mark.parametrize("again", ["ADA@EXAMPLE.ORG", "  ada@example.org ", "ada@example.org"])
def test_the_first_of_duplicate_addresses_counts(import_rows: ImportRows, again: str) -> None:
    printed = import_rows("Ada@example.org,First", f"{again},Second")
    assert printed.counts == {"added": 1, "duplicates": 1}
    assert the_list() == {"Ada@example.org": ("First", "pending")}


def test_duplicates_are_found_across_chunks(import_rows: ImportRows) -> None:
    rows = [f"reader{number}@example.org,Reader" for number in range(CHUNK + 10)]
    printed = import_rows(*rows, "READER0@example.org,Again", "reader3@example.org,")
    assert printed.counts == {"added": CHUNK + 10, "duplicates": 2}


@pytest.mark.parametrize("state", ["pending", "confirmed"])
def test_a_known_reader_is_counted_and_unchanged(import_rows: ImportRows, state: str) -> None:
    SubscriberFactory(email="Ada@example.org", name="Ada", state=state)
    printed = import_rows("ada@example.org,Another Name", options=("--confirmed",))
    assert printed.counts == {"known": 1}
    assert the_list() == {"Ada@example.org": ("Ada", state)}


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("unsubscribed", "This reader unsubscribed. Only they can resubscribe."),
        ("bounced", "Mail to this reader bounced."),
        ("complained", "This reader marked a letter as spam."),
    ],
)
def test_gone_readers_are_skipped_with_a_reason(
    import_rows: ImportRows, state: str, reason: str
) -> None:
    SubscriberFactory(email="ada@example.org", name="Ada", state=state)
    printed = import_rows("ADA@example.org,Ada", options=("--confirmed",))
    assert printed.counts == {"skipped": 1}
    assert the_list() == {"ada@example.org": ("Ada", state)}
    assert f"line 2 skipped: ADA@example.org: {reason}" in printed.lines
    assert RejectedRow.objects.get().reason == f"reader_{state}"


@pytest.mark.parametrize("known", [True, False])
def test_a_suppressed_address_is_skipped_known_or_not(import_rows: ImportRows, known: bool) -> None:
    SuppressionFactory(address_key="ada@example.org", reason="complaint")
    if known:
        SubscriberFactory(email="ada@example.org")
    printed = import_rows("Ada@example.org,Ada", options=("--confirmed",))
    assert printed.counts == {"skipped": 1}
    assert Subscriber.objects.count() == (1 if known else 0)
    assert "The address is suppressed: its owner marked a letter as spam." in printed.text


def test_a_lifted_suppression_skips_nobody(import_rows: ImportRows) -> None:
    consent_id = record_consent(SubscriberFactory().pk, "confirmed", "link", request=1)
    SuppressionFactory(
        address_key="ada@example.org",
        reason="complaint",
        lifted_at=SOME_DAY,
        lifted_by_id=consent_id,
    )
    assert import_rows("ada@example.org,Ada").counts == {"added": 1}


def test_bad_rows_are_reported_and_good_rows_imported(import_rows: ImportRows) -> None:
    printed = import_rows(
        "paul@@orchard.example.org,Paul",
        "ada@example.org,Ada",
        f"bob@example.org,{'x' * 257}",
        ",Nobody",
        "carl@example.org,Smith, Carl",
        "dora@example.org,Dora",
    )
    assert printed.counts == {"added": 2, "rejected": 4}
    assert list(RejectedRow.objects.order_by("line").values_list("line", "email")) == [
        (2, "paul@@orchard.example.org"),
        (4, "bob@example.org"),
        (5, ""),
        (6, "carl@example.org"),
    ]
    assert all(row.reason for row in RejectedRow.objects.all())


def test_a_large_file_is_imported_despite_bad_rows(import_rows: ImportRows) -> None:
    # The file is stored in several pieces, and no column can contain a NUL.
    long = "x" * (LONGEST_PIECE + 1)
    printed = import_rows("ada@example.org,Ada", "bo\0b@example.org,Bob", long, "cy@example.org,Cy")
    assert printed.counts == {"added": 2, "rejected": 2}
    assert set(the_list()) == {"ada@example.org", "cy@example.org"}


def test_only_the_first_rejected_rows_are_printed(import_rows: ImportRows) -> None:
    printed = import_rows(*[f"nowhere{number}," for number in range(25)])
    assert sum(line.startswith("line ") for line in printed.lines) == 10
    assert "15 more rows rejected" in printed.lines


def test_a_dry_run_reports_the_real_counts(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    SubscriberFactory(email="known@example.org")
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    SuppressionFactory(address_key="shut@example.org")
    path = file_of(
        "ada@example.org,Ada",
        "known@example.org,",
        "KNOWN@example.org,",
        "left@example.org,",
        "shut@example.org,",
        "nowhere,",
    )
    before = the_list()

    dry = import_subscribers(path, "--dry-run", "--confirmed")

    assert the_list() == before
    assert not SubscriberImport.objects.exists()
    assert not RejectedRow.objects.exists()
    assert dry.lines[0] == "Dry run of list.csv: nothing has changed."
    assert (dry.summary["import"], dry.summary["created"]) == (None, False)
    real = import_subscribers(path, "--confirmed")
    assert (
        dry.counts
        == real.counts
        == {"added": 1, "known": 1, "duplicates": 1, "skipped": 2, "rejected": 1}
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_progress_and_ends_with_a_clean_line(file_of: FileOf) -> None:
    rows = [f"reader{number}@example.org,Reader" for number in range(CHUNK + 1)]
    terminal, log = Terminal(), io.StringIO()

    call_command("import_subscribers", str(file_of(*rows)), stdout=io.StringIO(), stderr=terminal)
    path = str(file_of("ada@example.org,"))
    call_command("import_subscribers", path, stdout=io.StringIO(), stderr=log)

    shown = [f"Rows: {rows}, 100 % of the file" for rows in ("5,000", "5,001")]
    assert terminal.getvalue().split("\r\033[K") == ["", *shown, ""]
    assert log.getvalue() == ""  # only long imports write to a log


def test_the_same_content_returns_the_first_report(import_rows: ImportRows) -> None:
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    rows = ("ada@example.org,Ada", "ada@example.org,", "left@example.org,", "nowhere,")
    first = import_rows(*rows)
    before = the_list()

    again = import_rows(*rows, name="under another name.csv")

    assert again.summary == {**first.summary, "created": False}
    assert the_list() == before
    assert SubscriberImport.objects.count() == 1
    dry_run = import_rows(*rows, options=("--dry-run",))
    assert dry_run.summary == again.summary
    assert again.lines[0].startswith("The content of under another name.csv was imported before")
    assert [line for line in again.lines if line.startswith("line ")] == [
        line for line in first.lines if line.startswith("line ")
    ]


@pytest.mark.parametrize(
    ("first", "then", "reported"),
    [
        ((), ("--confirmed",), "The earlier import did not use --confirmed"),
        (("--confirmed",), (), "The earlier import used --confirmed"),
    ],
)
def test_another_statement_about_consent_changes_nothing(
    file_of: FileOf,
    import_subscribers: ImportSubscribers,
    first: tuple[str, ...],
    then: tuple[str, ...],
    reported: str,
) -> None:
    path = file_of("ada@example.org,Ada")
    import_subscribers(path, *first)
    before = the_list()
    again = import_subscribers(path, *then)
    assert again.summary["created"] is False
    assert again.lines[1].startswith(reported)
    assert the_list() == before


def test_the_same_name_with_other_content_is_a_new_import(import_rows: ImportRows) -> None:
    import_rows("ada@example.org,Ada")
    again = import_rows("ada@example.org,Ada", "bob@example.org,Bob")
    assert again.summary["created"] is True
    assert again.counts == {"added": 1, "known": 1}


@pytest.mark.parametrize("options", [[], ["--confirmed"]])
def test_an_erased_reader_is_skipped_with_a_reason(
    import_rows: ImportRows, options: list[str]
) -> None:
    assert erase(SubscriberFactory(email=ADA).pk)
    printed = import_rows(f"{ADA.upper()},Ada", "new@example.org,New", options=options)
    assert printed.counts == {"added": 1, "skipped": 1}
    assert "had their data erased" in printed.text
    assert not Subscriber.objects.filter(email_key=ADA).exists()
    assert RejectedRow.objects.get().email == ""
    assert tables_that_hold(ADA) == []


@pytest.mark.parametrize("has_confirmed", [True, False])
def test_an_erased_reader_who_signed_up_again_is_known(
    import_rows: ImportRows, has_confirmed: bool
) -> None:
    assert erase(SubscriberFactory(email=ADA).pk)
    sign_up(ADA)
    if has_confirmed:
        press(get_current())
    state = get_current().state
    assert import_rows(f"{ADA},Ada").counts == {"known": 1}
    assert get_current().state == state


def test_erasure_removes_notes_of_an_import() -> None:
    reader = SubscriberFactory(email="bram@example.org")
    under_way = SubscriberImportFactory()
    for line, key in enumerate(("bram@example.org", "other@example.org"), 1):
        ImportSeenAddress.objects.create(subscriber_import=under_way, email_key=key, line=line)
    SubscriberImport.objects.update(read_as={"examples": ["zoe@x.org", " BRAM@example.org, B"]})
    erase(reader.pk)
    assert ImportSeenAddress.objects.get().email_key == "other@example.org"
    assert tables_that_hold("bram@example.org") == []

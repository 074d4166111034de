"""What an import does with each row of a file."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command

from subscribers import consent
from subscribers.importing import import_file
from subscribers.importing.running import PIECE
from subscribers.models import LeftOutRow, Subscriber, SubscriberImport
from tests.subscribers.conftest import Printed
from tests.subscribers.factories import (
    SOME_DAY,
    SubscriberFactory,
    SuppressionFactory,
    the_list,
)

pytestmark = pytest.mark.django_db

FileOf = Callable[..., Path]
ImportSubscribers = Callable[..., Printed]


def test_rows_become_pending_readers_with_address_and_name(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(file_of("ada@example.org,Ada Whitlock", '"bob@Example.ORG","Smith, Bob"'))

    assert the_list() == {
        "ada@example.org": ("Ada Whitlock", "pending"),
        "bob@example.org": ("Smith, Bob", "pending"),
    }


def test_readers_are_confirmed_if_the_importer_states_their_consent_and_that_is_on_record(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(file_of("ada@example.org,Ada"), "--confirmed")

    reader = Subscriber.objects.get()
    assert reader.state == "confirmed"
    assert reader.confirmed_at is not None
    assert reader.source == "import"
    assert reader.subscriber_import is not None
    assert reader.subscriber_import.confirmed
    assert reader.subscriber_import.filename == "list.csv"


def test_the_last_line_is_json_whose_last_five_numbers_add_up_to_the_rows(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    SubscriberFactory(email="known@example.org")
    SubscriberFactory(email="left@example.org", state="unsubscribed")

    summary = import_subscribers(
        file_of(
            "ada@example.org,Ada",
            "known@example.org,",
            "ADA@example.org,Ada again",
            "left@example.org,",
            "nowhere,",
            "bob@example.org,Bob",
        )
    ).summary

    record = SubscriberImport.objects.get()
    assert list(summary.items()) == [
        ("import", record.pk),
        ("created", True),
        ("rows", 6),
        ("added", 2),
        ("known", 1),
        ("duplicates", 1),
        ("skipped", 1),
        ("rejected", 1),
    ]
    assert (record.rows, record.added, record.rejected) == (6, 2, 1)
    assert record.finished_at is not None


def test_the_report_for_people_ends_in_its_sum(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    lines = import_subscribers(file_of("ada@example.org,Ada", "nowhere,Bob")).lines

    assert lines[0].startswith("list.csv was imported as import ")
    assert lines[1:3] == [
        "Read as UTF-8, commas, with a header, LF.",
        "“email” is the address, “name” the name.",
    ]
    assert [line.split()[:2] for line in lines[3:9]] == [
        ["added", "1"],
        ["known", "0"],
        ["duplicates", "0"],
        ["skipped", "0"],
        ["rejected", "1"],
        ["rows", "2"],
    ]
    assert lines[9] == "line 3 rejected: nowhere: An email address must have an @-sign."


@pytest.mark.parametrize("again", ["ADA@EXAMPLE.ORG", "  ada@example.org ", "ada@example.org"])
def test_an_address_further_down_is_a_duplicate_and_the_first_one_counts(
    file_of: FileOf, import_subscribers: ImportSubscribers, again: str
) -> None:
    printed = import_subscribers(file_of("Ada@example.org,First", f"{again},Second"))

    assert printed.counts == {"added": 1, "duplicates": 1}
    assert the_list() == {"Ada@example.org": ("First", "pending")}


def test_duplicates_are_found_across_chunks(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    rows = [f"reader{number}@example.org,Reader" for number in range(PIECE + 10)]

    printed = import_subscribers(
        file_of(*rows, "READER0@example.org,Again", "reader3@example.org,")
    )

    assert printed.counts == {"added": PIECE + 10, "duplicates": 2}


def test_readers_are_numbered_in_the_order_of_the_file(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    import_subscribers(file_of("z@example.org,", "a@example.org,", "m@example.org,"))

    assert list(Subscriber.objects.order_by("id").values_list("email", flat=True)) == [
        "z@example.org",
        "a@example.org",
        "m@example.org",
    ]


@pytest.mark.parametrize("state", ["pending", "confirmed"])
def test_a_known_reader_is_counted_and_left_as_they_were(
    file_of: FileOf, import_subscribers: ImportSubscribers, state: str
) -> None:
    SubscriberFactory(email="Ada@example.org", name="Ada", state=state)

    printed = import_subscribers(file_of("ada@example.org,Another Name"), "--confirmed")

    assert printed.counts == {"known": 1}
    assert the_list() == {"Ada@example.org": ("Ada", state)}


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("unsubscribed", "This reader has left; an import does not bring them back."),
        ("bounced", "Mail to this reader bounces."),
        ("complained", "This reader called a letter spam."),
    ],
)
def test_nobody_who_left_bounced_or_complained_is_brought_back(
    file_of: FileOf, import_subscribers: ImportSubscribers, state: str, reason: str
) -> None:
    SubscriberFactory(email="ada@example.org", name="Ada", state=state)

    printed = import_subscribers(file_of("ADA@example.org,Ada"), "--confirmed")

    assert printed.counts == {"skipped": 1}
    assert the_list() == {"ada@example.org": ("Ada", state)}
    assert f"line 2 skipped: ADA@example.org: {reason}" in printed.lines
    assert LeftOutRow.objects.get().reason == reason


@pytest.mark.parametrize("known", [True, False])
def test_a_suppressed_address_is_skipped_known_or_not(
    file_of: FileOf, import_subscribers: ImportSubscribers, known: bool
) -> None:
    SuppressionFactory(address_key="ada@example.org", reason="complaint")
    if known:
        SubscriberFactory(email="ada@example.org")

    printed = import_subscribers(file_of("Ada@example.org,Ada"), "--confirmed")

    assert printed.counts == {"skipped": 1}
    assert Subscriber.objects.count() == (1 if known else 0)
    assert "The address is suppressed: its owner called a letter spam." in printed.text


def test_a_suppression_that_was_lifted_keeps_nobody_out(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    consent_id = consent.record(SubscriberFactory().pk, "confirmed", "link", request=1)
    SuppressionFactory(
        address_key="ada@example.org",
        reason="complaint",
        lifted_at=SOME_DAY,
        lifted_by_id=consent_id,
    )

    assert import_subscribers(file_of("ada@example.org,Ada")).counts == {"added": 1}


def test_bad_rows_never_stop_the_good_ones_and_are_reported_with_line_and_reason(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    printed = import_subscribers(
        file_of(
            "paul@@orchard.example.org,Paul",
            "ada@example.org,Ada",
            f"bob@example.org,{'x' * 257}",
            ",Nobody",
            "carl@example.org,Smith, Carl",
            "dora@example.org,Dora",
        )
    )

    assert printed.counts == {"added": 2, "rejected": 4}
    assert list(LeftOutRow.objects.order_by("line").values_list("line", "email", "reason")) == [
        (2, "paul@@orchard.example.org", "There is more than one @-sign."),
        (4, "bob@example.org", "The name has 257 characters; at most 256 are allowed."),
        (5, "", "There is no address."),
        (
            6,
            "carl@example.org",
            (
                "The row has 3 columns instead of 2; a comma inside a field needs quotation marks "
                "around the field."
            ),
        ),
    ]


def test_only_the_first_rejected_rows_are_printed_and_how_many_more_there_are(
    file_of: FileOf, import_subscribers: ImportSubscribers
) -> None:
    printed = import_subscribers(file_of(*[f"nowhere{number}," for number in range(25)]))

    assert sum(line.startswith("line ") for line in printed.lines) == 10
    assert "and 15 more rows rejected" in printed.lines


def test_a_dry_run_gives_the_numbers_of_the_real_run_and_changes_nothing(
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
    assert not LeftOutRow.objects.exists()
    assert dry.lines[0] == "A dry run of list.csv: nothing has changed."
    assert (dry.summary["import"], dry.summary["created"]) == (None, False)
    real = import_subscribers(path, "--confirmed")
    assert (
        dry.counts
        == real.counts
        == {
            "added": 1,
            "known": 1,
            "duplicates": 1,
            "skipped": 2,
            "rejected": 1,
        }
    )


def test_progress_is_told_after_each_chunk(file_of: FileOf) -> None:
    told = []
    rows = [f"reader{number}@example.org,Reader" for number in range(2 * PIECE + 1)]

    import_file(file_of(*rows), confirmed=False, on_progress=told.append)

    assert [progress.rows for progress in told] == [PIECE, 2 * PIECE, 2 * PIECE + 1]
    assert [progress.percent for progress in told] == sorted(progress.percent for progress in told)
    assert told[-1].percent == 100


class Terminal(io.StringIO):
    """Somebody watches."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_progress_and_ends_with_a_clean_line(file_of: FileOf) -> None:
    rows = [f"reader{number}@example.org,Reader" for number in range(PIECE + 1)]
    terminal = Terminal()

    call_command("import_subscribers", str(file_of(*rows)), stdout=io.StringIO(), stderr=terminal)

    assert terminal.getvalue() == (
        "\r5,000 rows, 100 % of the file\r5,001 rows, 100 % of the file\r\033[K"
    )


def test_a_log_is_told_of_long_imports_only(file_of: FileOf) -> None:
    log = io.StringIO()

    call_command(
        "import_subscribers", str(file_of("ada@example.org,")), stdout=io.StringIO(), stderr=log
    )

    assert log.getvalue() == ""

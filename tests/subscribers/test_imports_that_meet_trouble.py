"""Imports that are killed half-way, frozen, two at once, and beside people who sign up."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from subscribers.importing import (
    Progress,
    UnreadableFileError,
    background,
    import_file,
    receiving,
)
from subscribers.importing.holding import MOST_SETBACKS, guard, take
from subscribers.importing.reading import ReaderFile
from subscribers.importing.receiving import Statement
from subscribers.importing.running import PIECE, run
from subscribers.management.commands.import_subscribers import Command
from subscribers.models import (
    ConsentRecord,
    ImportAddressSeen,
    ImportPiece,
    LeftOutRow,
    Subscriber,
    SubscriberImport,
)
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.import_processes import (
    WORKER,
    ImportProcess,
    eventually,
    let_the_lease_run_out,
    nobody_takes_a_turn,
    wait_until_blocked,
)
from tests.subscribers.no_lists import NO_LISTS, PICKED_BY_MISTAKE

pytestmark = pytest.mark.django_db(transaction=True)

GOES_ON = (
    "If the import had begun, a worker goes on with it where it was, and so does the same command "
    "again."
)

FileOf = Callable[..., Path]
StartImport = Callable[..., ImportProcess]
COUNTS = ("rows", "added", "known", "duplicates", "skipped", "rejected")
PIECES = 5


@pytest.fixture
def start(database_url: str) -> Iterator[StartImport]:
    """`manage.py import_subscribers --confirmed FILE` as a process, or what `source` says."""
    started: list[ImportProcess] = []

    def begin(*words: Path | str, **facts: str) -> ImportProcess:
        options = [] if "source" in facts else ["--confirmed"]
        process = ImportProcess(database_url, *map(str, words), *options, **facts)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()


def sign_up(somebody_else: psycopg.Connection[Any], email: str) -> None:
    """Somebody signs up at this moment; their transaction stays open."""
    somebody_else.execute(
        "INSERT INTO subscriber (email, name, state, source) VALUES (%s, '', 'pending', 'sign-up')",
        (email,),
    )


def a_long_list(file_of: FileOf) -> Path:
    return file_of(*[f"reader{number}@example.org,Reader" for number in range(2 * PIECE)])


def a_list_of_everything(file_of: FileOf) -> Path:
    """Five pieces: readers, doubles far from their first, bad rows, and people who left."""
    for number in (7, PIECE + 7, 3 * PIECE + 7):
        SubscriberFactory(email=f"reader{number}@example.org", state="unsubscribed")
        SubscriberFactory(email=f"reader{number + 1}@example.org")
    rows = [f"reader{number}@example.org,Reader {number}" for number in range(PIECES * PIECE)]
    for number in range(100, PIECES * PIECE, 1000):
        rows[number] = f"READER{number % PIECE // 2}@example.org,Again"
        rows[number + 1] = f"nowhere{number},"
    return file_of(*rows)


def kept_in_waiting(path: Path, *, confirmed: bool = True) -> SubscriberImport:
    """The file as it waits for a worker."""
    with ReaderFile(path) as file, path.open("rb") as content:
        record, _ = receiving.receive_to_import(
            file, content, path.name, Statement(confirmed=confirmed)
        )
    return record


def whole_state() -> tuple[Any, ...]:
    """All that an import leaves behind."""
    record = SubscriberImport.objects.get()
    return (
        record.state,
        {name: getattr(record, name) for name in COUNTS},
        record.skipped_because,
        list(Subscriber.objects.order_by("email_key").values_list("email", "name", "state")),
        list(LeftOutRow.objects.order_by("line").values_list("line", "result", "email", "reason")),
        ConsentRecord.objects.count(),
        ImportPiece.objects.count(),
        ImportAddressSeen.objects.count(),
    )


def forget_everything() -> None:
    """The database as it was before the first import."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE subscriber, subscriber_import, consent_record CASCADE")


def test_killed_three_times_half_way_it_ends_as_one_that_nobody_disturbed(
    file_of: FileOf,
    start: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    path = a_list_of_everything(file_of)
    start(path).summary()
    undisturbed = whole_state()
    forget_everything()
    a_list_of_everything(file_of)
    came_to = []

    for pieces in (1, 2, 4):
        # Somebody who just signs up stops it in the middle of the next piece; there it is killed.
        sign_up(somebody_else, f"reader{pieces * PIECE + 500}@example.org")
        process = start(path)
        wait_until_blocked(database_url, "transactionid", "%INSERT INTO subscriber%")
        process.kill()
        somebody_else.rollback()
        came_to.append(SubscriberImport.objects.get().rows)
        let_the_lease_run_out(database_url)

    summary = start(path).summary()
    assert came_to == [PIECE, 2 * PIECE, 4 * PIECE]
    assert summary["created"] is False
    assert whole_state() == undisturbed
    assert undisturbed[0] == "finished"
    assert undisturbed[-2:] == (0, 0)


def test_killed_in_the_middle_of_a_piece_nothing_of_that_piece_is_there(
    file_of: FileOf,
    start: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    path = a_long_list(file_of)
    sign_up(somebody_else, f"reader{PIECE + 7}@example.org")  # stops it in its second piece
    first = start(path)
    wait_until_blocked(database_url, "transactionid", "%INSERT INTO subscriber%")

    first.kill()
    somebody_else.rollback()

    eventually(database_url, "SELECT count(*) = %s FROM subscriber", PIECE)
    assert SubscriberImport.objects.get().rows == ConsentRecord.objects.count() == PIECE
    let_the_lease_run_out(database_url)
    summary = start(path).summary()
    assert summary["added"] == summary["rows"] == Subscriber.objects.count() == 2 * PIECE


def test_a_worker_goes_on_where_the_command_was_killed(
    file_of: FileOf, start: StartImport, database_url: str
) -> None:
    path = a_long_list(file_of)
    with nobody_takes_a_turn(database_url):
        command = start(path)
        wait_until_blocked(database_url)
        command.kill()
    path.unlink()
    let_the_lease_run_out(database_url)

    assert background.work(lambda: False)

    record = SubscriberImport.objects.get()
    assert (record.state, record.added) == ("finished", 2 * PIECE)


def test_two_workers_on_one_import_do_the_work_once(
    file_of: FileOf, start: StartImport, database_url: str
) -> None:
    kept_in_waiting(a_long_list(file_of))
    with nobody_takes_a_turn(database_url):
        workers = [start(source=WORKER) for _ in range(2)]
        wait_until_blocked(database_url)

    assert [worker.end() for worker in workers] == [(0, "", "")] * 2
    record = SubscriberImport.objects.get()
    assert (record.state, record.added, record.epoch) == ("finished", 2 * PIECE, 1)
    assert Subscriber.objects.count() == ConsentRecord.objects.count() == 2 * PIECE


def test_of_two_commands_with_one_file_at_once_one_does_the_work_and_both_report_it(
    file_of: FileOf, start: StartImport, database_url: str
) -> None:
    path = a_long_list(file_of)
    with nobody_takes_a_turn(database_url):
        first = start(path)
        wait_until_blocked(database_url)
        second = start(path)
    done, told = first.summary(), second.summary()

    assert done["created"] is True
    assert told == {**done, "created": False}
    assert Subscriber.objects.count() == 2 * PIECE


def test_a_process_that_is_frozen_past_its_lease_and_wakes_up_writes_nothing(
    file_of: FileOf,
    start: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    path = a_list_of_everything(file_of)
    sign_up(somebody_else, f"reader{2 * PIECE + 500}@example.org")
    frozen = start(path, DELIVERY_LEASE_S="2")
    wait_until_blocked(database_url, "transactionid", "%INSERT INTO subscriber%")
    frozen.freeze()
    somebody_else.rollback()
    # It froze in the middle of a piece. The server ends that transaction when the lease ends.
    eventually(
        database_url,
        "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND state LIKE 'idle in transaction%%'",
    )
    let_the_lease_run_out(database_url)
    assert background.work(lambda: False)
    ended = whole_state()

    frozen.signal(signal.SIGCONT)

    code, _, errors = frozen.end()
    assert code == 1
    assert errors == f"CommandError: The connection to the database was lost. {GOES_ON}\n"
    assert whole_state() == ended
    assert ended[0] == "finished"
    assert ended[1]["rows"] == PIECES * PIECE


def test_the_server_ends_a_piece_in_whose_middle_a_process_freezes_when_its_lease_ends(
    file_of: FileOf, settings: Any
) -> None:
    settings.DELIVERY_LEASE_S = 7
    kept_in_waiting(a_long_list(file_of))
    hold = take(uuid4())
    assert hold is not None

    with transaction.atomic(), connection.cursor() as cursor:
        guard(cursor, hold)
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("7s",)
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() != ("7s",)


def test_whoever_lost_their_hold_to_another_writes_nothing_more(file_of: FileOf) -> None:
    record = kept_in_waiting(a_long_list(file_of))
    first = take(uuid4())
    assert first is not None
    SubscriberImport.objects.update(lease_until="2026-01-01T00:00:00Z")
    second = take(uuid4())
    assert second is not None

    run(first)

    record.refresh_from_db()
    assert (record.state, record.rows, Subscriber.objects.count()) == ("running", 0, 0)
    run(second)
    record.refresh_from_db()
    assert (record.state, record.rows) == ("finished", 2 * PIECE)


@pytest.mark.parametrize("pieces", [1, 2])
def test_whoever_loses_their_hold_between_two_pieces_writes_no_more(
    file_of: FileOf, pieces: int
) -> None:
    record = kept_in_waiting(a_long_list(file_of))
    first = take(uuid4())
    assert first is not None

    def somebody_takes_over(progress: Progress) -> None:
        if progress.rows == pieces * PIECE:
            SubscriberImport.objects.update(lease_until="2026-01-01T00:00:00Z")
            assert take(uuid4()) is not None

    run(first, on_progress=somebody_takes_over)

    record.refresh_from_db()
    assert (record.state, record.rows) == ("running", pieces * PIECE)
    assert record.owner is not None
    assert Subscriber.objects.count() == pieces * PIECE


def test_a_piece_waits_for_its_turn(file_of: FileOf, database_url: str) -> None:
    kept_in_waiting(a_long_list(file_of))
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")

    with nobody_takes_a_turn(database_url), pytest.raises(OperationalError, match="lock timeout"):
        background.work(lambda: False)

    connection.close()
    assert not Subscriber.objects.exists()


def test_killed_between_its_readers_and_its_checkpoint_a_piece_leaves_nothing(
    file_of: FileOf,
    start: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    rows = [f"reader{number}@example.org,Reader" for number in range(2 * PIECE)]
    rows[PIECE + 5] = "nowhere,Nobody"
    path = file_of(*rows)
    record = kept_in_waiting(path)
    # The report of a bad row in the second piece waits for this one.
    somebody_else.execute(
        "INSERT INTO left_out_row (subscriber_import_id, line, result, email, reason)"
        " VALUES (%s, %s, 'rejected', '', '')",
        (record.pk, PIECE + 7),
    )
    process = start(path)
    wait_until_blocked(database_url, "transactionid", "%INSERT INTO left_out_row%")

    process.kill()
    somebody_else.rollback()

    eventually(database_url, "SELECT count(*) = %s FROM subscriber", PIECE)
    assert SubscriberImport.objects.get().rows == ConsentRecord.objects.count() == PIECE
    let_the_lease_run_out(database_url)
    assert start(path).summary()["added"] == Subscriber.objects.count() == 2 * PIECE - 1


def test_a_file_that_changes_before_it_is_kept_is_refused_and_nothing_is_kept(
    file_of: FileOf,
) -> None:
    with (
        ReaderFile(file_of("ada@example.org,Ada")) as file,
        pytest.raises(UnreadableFileError, match="changed while it was read; import it again"),
    ):
        receiving.receive_to_import(
            file, io.BytesIO(b"email\nbob@example.org\n"), "list.csv", Statement(confirmed=True)
        )

    assert not SubscriberImport.objects.exists()
    assert not ImportPiece.objects.exists()


def test_whoever_lets_the_lease_run_out_writes_nothing_even_if_nobody_took_it(
    file_of: FileOf,
) -> None:
    kept_in_waiting(a_long_list(file_of))
    hold = take(uuid4())
    assert hold is not None
    SubscriberImport.objects.update(lease_until="2026-01-01T00:00:00Z")

    run(hold)

    assert not Subscriber.objects.exists()


def test_nobody_else_takes_an_import_while_its_lease_lasts(file_of: FileOf) -> None:
    kept_in_waiting(a_long_list(file_of))

    assert take(uuid4()) is not None
    assert take(uuid4()) is None
    assert not background.work(lambda: False)


def test_a_worker_that_is_stopped_gives_the_import_back_after_its_piece(file_of: FileOf) -> None:
    record = kept_in_waiting(a_long_list(file_of))

    assert background.work(lambda: True)

    record.refresh_from_db()
    assert (record.rows, record.owner, record.lease_until) == (PIECE, None, None)
    assert background.is_due()
    assert background.work(lambda: False)
    assert not background.is_due()
    record.refresh_from_db()
    assert (record.rows, record.added) == (2 * PIECE, 2 * PIECE)


def test_an_import_that_is_taken_up_again_and_again_without_coming_further_is_refused(
    file_of: FileOf,
) -> None:
    path = a_long_list(file_of)
    record = kept_in_waiting(path)
    background.work(lambda: True)
    for _ in range(MOST_SETBACKS):
        assert take(uuid4()) is not None
        SubscriberImport.objects.update(lease_until="2026-01-01T00:00:00Z")

    background.work(lambda: False)

    record.refresh_from_db()
    assert (record.state, record.rows) == ("refused", PIECE)
    assert record.refusal == "It was begun 10 times without coming further; the log says why."
    assert not ImportPiece.objects.exists()
    # The same file again goes on from there.
    assert import_file(path, confirmed=True).counts.added == 2 * PIECE


def test_bytes_that_were_lost_on_the_way_are_noticed(file_of: FileOf) -> None:
    path = a_long_list(file_of)
    record = kept_in_waiting(path)
    ImportPiece.objects.update(content=path.read_bytes()[:1000])

    background.work(lambda: False)

    record.refresh_from_db()
    assert record.state == "refused"
    assert record.refusal == "What was kept of the file is not all of it; bring it again."


def test_ctrl_c_says_how_it_goes_on_and_leaves_the_import_to_whoever_comes(
    file_of: FileOf, start: StartImport, database_url: str
) -> None:
    path = a_long_list(file_of)
    with nobody_takes_a_turn(database_url):
        process = start(path)
        wait_until_blocked(database_url)
        process.signal(signal.SIGINT)
        code, output, errors = process.end()

    assert (code, output) == (130, "")
    assert errors == f"Broken off. {GOES_ON}\n"
    assert background.work(lambda: False)
    assert SubscriberImport.objects.get().added == 2 * PIECE


def test_ctrl_c_in_a_dry_run_says_that_nothing_has_changed(
    file_of: FileOf,
    start: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    somebody_else.execute("LOCK TABLE subscriber")
    process = start(a_long_list(file_of), "--dry-run")
    wait_until_blocked(database_url, "relation")
    process.signal(signal.SIGINT)

    assert process.end() == (130, "", "Broken off. Nothing has changed.\n")
    assert not SubscriberImport.objects.exists()


def test_somebody_who_signs_up_meanwhile_is_known_and_stays_as_they_signed_up(
    file_of: FileOf,
    start: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    sign_up(somebody_else, "Reader7@example.org")
    process = start(a_long_list(file_of))
    wait_until_blocked(database_url, "transactionid", "%INSERT INTO subscriber%")

    somebody_else.commit()

    summary = process.summary()
    assert (summary["added"], summary["known"]) == (2 * PIECE - 1, 1)
    assert Subscriber.objects.get(email_key="reader7@example.org").state == "pending"


def test_two_imports_that_meet_the_same_addresses_in_another_order_do_not_block_each_other(
    file_of: FileOf, start: StartImport, database_url: str
) -> None:
    rows = [f"reader{number}@example.org,Reader" for number in range(2 * PIECE)]
    with nobody_takes_a_turn(database_url):
        imports = [
            start(file_of(*rows, name="forwards.csv")),
            start(file_of(*reversed(rows), name="backwards.csv")),
        ]
        eventually(
            database_url,
            "SELECT count(*) = 2 FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock' AND wait_event = 'advisory'",
        )

    summaries = [process.summary() for process in imports]

    assert sum(summary["added"] for summary in summaries) == 2 * PIECE
    assert sum(summary["known"] for summary in summaries) == 2 * PIECE


def test_the_command_ends_with_1_and_one_sentence_when_a_file_cannot_be_imported(
    file_of: FileOf, start: StartImport
) -> None:
    process = start(file_of(content=b"%PDF-1.7\nemail,name\n"))

    code, output, errors = process.end()

    assert (code, output) == (1, "")
    assert errors.splitlines() == [
        (
            "CommandError: The file is a PDF document; expected is a list as text: open it in its "
            "own program, save the list as “CSV UTF-8” and import that."
        )
    ]


@pytest.mark.parametrize("kind", PICKED_BY_MISTAKE)
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_file_picked_by_mistake_ends_the_command_with_1_one_sentence_and_no_json(
    file_of: FileOf, capsys: pytest.CaptureFixture[str], kind: str, options: tuple[str, ...]
) -> None:
    content, sentence = NO_LISTS[kind]
    path = file_of(content=content, name=f"{kind}.csv")

    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "import_subscribers", str(path), *options])

    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert line.startswith("CommandError: ")
    assert sentence in line
    assert (ended.value.code, said.out) == (1, "")
    assert not SubscriberImport.objects.exists()


def test_a_file_larger_than_the_site_takes_is_refused_before_anything_is_kept(
    file_of: FileOf, settings: Any
) -> None:
    settings.IMPORT_MAX_MB = 1
    path = file_of("ada@example.org," + "a" * 100)
    os.truncate(path, 1024 * 1024 + 1)

    with pytest.raises(UnreadableFileError, match="larger than the 1 MB that IMPORT_MAX_MB allows"):
        import_file(path, confirmed=True)

    assert not SubscriberImport.objects.exists()

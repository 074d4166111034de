"""Imports in processes that are killed, frozen or interrupted."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from subscribers.importing.import_task import CHUNK, run_next_import
from subscribers.models import (
    ConsentRecord,
    ImportPiece,
    ImportSeenAddress,
    RejectedRow,
    Subscriber,
    SubscriberImport,
    Suppression,
)
from tests.subscribers.conftest import FileOf, ImportSubscribers
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.importing.import_browser import kept_in_waiting
from tests.subscribers.importing.import_processes import (
    ImportProcess,
    blocked_imports,
    eventually,
    expire_lease,
    sign_up,
    wait_until_blocked,
)

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

CONTINUES = "If the import had begun, a worker or the same command continues it."
StartImport = Callable[..., ImportProcess]
COUNTS = ("rows", "added", "known", "duplicates", "skipped", "rejected")
PIECES = 4


@pytest.fixture
def start(database_url: str) -> Iterator[StartImport]:
    started: list[ImportProcess] = []

    def begin(*words: Path | str, **facts: str) -> ImportProcess:
        process = ImportProcess(database_url, *map(str, words), "--confirmed", **facts)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()


def a_list_of_everything(file_of: FileOf) -> Path:
    """Write readers, duplicates, bad rows, and readers who left here or elsewhere."""
    for number in (7, CHUNK + 7, 2 * CHUNK + 7):
        SubscriberFactory(email=f"reader{number}@example.org", state="unsubscribed")
        SubscriberFactory(email=f"reader{number + 1}@example.org")
    rows = [f"reader{number}@example.org,Reader,active" for number in range(PIECES * CHUNK)]
    for number in range(100, PIECES * CHUNK, 1000):
        rows[number] = f"READER{number % CHUNK // 2}@example.org,Again,active"
        rows[number + 1] = f"nowhere{number},,active"
        rows[number + 2] = f"reader{number + 2}@example.org,Gone,bounced"
        # These rows repeat the addresses of earlier rows, mostly of rows in an earlier chunk.
        rows[number + 3] = f"reader{number // 2 + 1}@example.org,Gone,unsubscribed"
    return file_of(*rows, header="email,name,status")


def whole_state() -> tuple[Any, ...]:
    record = SubscriberImport.objects.get()
    return (
        record.state,
        {name: getattr(record, name) for name in COUNTS},
        record.skipped_because,
        record.statuses,
        list(Subscriber.objects.order_by("email_key").values_list("email", "name", "state")),
        list(RejectedRow.objects.order_by("line").values_list("line", "result", "email", "reason")),
        list(Suppression.objects.order_by("id").values_list("address_key", "reason", "origin")),
        ConsentRecord.objects.count(),
        ImportPiece.objects.count(),
        ImportSeenAddress.objects.count(),
    )


def forget_everything() -> None:
    """Restore the database to its state before the first import."""
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE subscriber, subscriber_import, suppression, consent_record CASCADE"
        )


def test_an_import_killed_repeatedly_ends_like_an_undisturbed_one(
    file_of: FileOf,
    import_subscribers: ImportSubscribers,
    start: StartImport,
    other_session: psycopg.Connection[Any],
    database_url: str,
) -> None:
    path = a_list_of_everything(file_of)
    import_subscribers(path, "--confirmed")
    undisturbed = whole_state()
    forget_everything()
    a_list_of_everything(file_of)

    for pieces in (1, 2):
        # A concurrent sign-up blocks the next chunk. Kill the waiting process.
        sign_up(other_session, f"reader{pieces * CHUNK + 500}@example.org")
        process = start(path)
        wait_until_blocked(database_url, "transactionid", "%INSERT INTO subscriber%")
        process.kill()
        other_session.rollback()
        assert SubscriberImport.objects.get().rows == pieces * CHUNK
        expire_lease(database_url)

    # A worker continues after the command was killed, without the file.
    path.unlink()
    assert run_next_import()
    assert whole_state() == undisturbed
    assert undisturbed[0] == "finished"
    assert undisturbed[-2:] == (0, 0)
    assert len(undisturbed[-4]) == 2 * PIECES * CHUNK // 1000


def test_a_process_frozen_past_its_lease_writes_nothing(
    file_of: FileOf, start: StartImport, other_session: psycopg.Connection[Any], database_url: str
) -> None:
    path = a_list_of_everything(file_of)
    sign_up(other_session, f"reader{CHUNK + 500}@example.org")
    frozen = start(path, DELIVERY_LEASE_S="2")
    wait_until_blocked(database_url, "transactionid", "%INSERT INTO subscriber%")
    frozen.freeze()
    other_session.rollback()
    # The process froze within a chunk. The server ends the open transaction when the lease ends.
    eventually(
        database_url,
        "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND state LIKE 'idle in transaction%%'",
    )
    expire_lease(database_url)
    assert run_next_import()
    ended = whole_state()

    frozen.signal(signal.SIGCONT)

    code, _, errors = frozen.end()
    assert code == 1
    # On a slow machine an earlier loss of the lease may be logged.
    last = errors.splitlines()[-1]
    assert last == f"homing: The connection to the database was lost. {CONTINUES}"
    assert whole_state() == ended
    assert ended[0] == "finished"
    assert ended[1]["rows"] == PIECES * CHUNK


def test_a_chunk_killed_before_its_checkpoint_leaves_nothing(
    file_of: FileOf, start: StartImport, other_session: psycopg.Connection[Any], database_url: str
) -> None:
    rows = [f"reader{number}@example.org,Reader" for number in range(CHUNK + 9)]
    rows[CHUNK + 5] = "nowhere,Nobody"
    path = file_of(*rows)
    record = kept_in_waiting(path)
    # The import waits for this lock when it stores the bad row of the second chunk.
    other_session.execute(
        "INSERT INTO rejected_row (subscriber_import_id, line, result, email, reason)"
        " VALUES (%s, %s, 'rejected', '', '')",
        (record.pk, CHUNK + 7),
    )
    process = start(path)
    wait_until_blocked(database_url, "transactionid", "%INSERT INTO%rejected_row%")

    process.kill()
    other_session.rollback()

    eventually(database_url, "SELECT count(*) = %s FROM subscriber", CHUNK)
    assert SubscriberImport.objects.get().rows == ConsentRecord.objects.count() == CHUNK
    expire_lease(database_url)
    assert start(path).summary()["added"] == Subscriber.objects.count() == CHUNK + 8


def test_ctrl_c_explains_how_the_import_continues(
    file_of: FileOf, start: StartImport, other_session: psycopg.Connection[Any], database_url: str
) -> None:
    path = file_of("ada@example.org,Ada")
    other_session.execute("LOCK TABLE subscriber")
    dry_run = start(path, "--dry-run")
    wait_until_blocked(database_url, "relation")
    dry_run.signal(signal.SIGINT)
    assert dry_run.end() == (130, "", "Interrupted. Nothing has changed.\n")
    assert not SubscriberImport.objects.exists()
    other_session.rollback()

    with blocked_imports(database_url):
        process = start(path)
        wait_until_blocked(database_url)
        process.signal(signal.SIGINT)
        assert process.end() == (130, "", f"Interrupted. {CONTINUES}\n")

    assert run_next_import()
    assert SubscriberImport.objects.get().added == 1

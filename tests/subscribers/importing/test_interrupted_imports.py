"""Imports that lose their lease, or run beside other imports and sign-ups."""

import io
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now

from delivery.tasks.run_leased_task import claim, open_tasks
from subscribers.importing import accept_upload
from subscribers.importing.accept_upload import Statement
from subscribers.importing.file_format.not_a_csv import UnreadableFileError
from subscribers.importing.file_format.read_file import ReaderFile, Row
from subscribers.importing.import_file import import_file
from subscribers.importing.import_task import (
    CHUNK,
    IMPORTS,
    MOST_CHARACTERS_IN_CHUNK,
    chunks,
    run_next_import,
)
from subscribers.models import (
    ImportPiece,
    Subscriber,
    SubscriberImport,
    Suppression,
)
from tests.publishing.second_connection import PATIENCE_S, beside
from tests.subscribers.conftest import FileOf, ImportSubscribers
from tests.subscribers.importing.import_browser import kept_in_waiting
from tests.subscribers.importing.import_processes import (
    blocked_imports,
    sign_up,
    wait_until_blocked,
)

pytestmark = pytest.mark.django_db(transaction=True)

LONG = CHUNK + 1  # rows; an import needs two chunks for them


def a_long_list(file_of: FileOf) -> Path:
    return file_of(*[f"reader{number}@example.org,Reader" for number in range(LONG)])


def test_no_piece_mails_a_reader_who_is_gone_further_down(file_of: FileOf) -> None:
    others = [f"reader{number}@example.org,pending" for number in range(CHUNK)]
    rows = ("ada@example.org,pending", *others, "ADA@example.org,unsubscribed")
    kept_in_waiting(file_of(*rows, header="email,status"))
    run_next_import(lambda: True)
    assert not Subscriber.objects.filter(email="ada@example.org").exists()
    run_next_import()
    assert Suppression.objects.get().address_key == "ada@example.org"
    counts = SubscriberImport.objects.get().counts
    assert (counts["added"], counts["duplicates"], counts["skipped"]) == (CHUNK, 1, 1)


def test_only_one_import_applies_a_chunk_at_a_time(file_of: FileOf, database_url: str) -> None:
    kept_in_waiting(file_of("ada@example.org,Ada"))
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
    with blocked_imports(database_url), pytest.raises(OperationalError, match="lock timeout"):
        run_next_import()
    connection.close()
    assert not Subscriber.objects.exists()


def test_a_file_that_changes_during_upload_is_refused(file_of: FileOf) -> None:
    with (
        ReaderFile(file_of("ada@example.org,Ada")) as file,
        pytest.raises(UnreadableFileError, match=r"changed while Homing read it\. Import it again"),
    ):
        accept_upload.store_for_import(
            file,
            io.BytesIO(b"email\nbob@example.org\n"),
            "list.csv",
            Statement(confirmed=True).columns(),
        )

    assert not SubscriberImport.objects.exists()
    assert not ImportPiece.objects.exists()


def test_a_stopping_worker_releases_the_import_after_a_chunk(file_of: FileOf) -> None:
    record = kept_in_waiting(a_long_list(file_of))

    assert run_next_import(lambda: True)

    record.refresh_from_db()
    assert (record.rows, record.owner, record.lease_until) == (CHUNK, None, None)
    assert open_tasks(SubscriberImport).exists()
    assert run_next_import()
    assert not open_tasks(SubscriberImport).exists()
    record.refresh_from_db()
    assert (record.rows, record.added) == (LONG, LONG)


def test_an_import_without_progress_is_refused(file_of: FileOf) -> None:
    path = a_long_list(file_of)
    record = kept_in_waiting(path)
    run_next_import(lambda: True)
    SubscriberImport.objects.update(claims=SubscriberImport.MOST_CLAIMS)

    run_next_import()

    record.refresh_from_db()
    assert (record.state, record.rows) == ("refused", CHUNK)
    assert record.error == {"code": "import_stuck", "parameters": {"times": 10}}
    assert not ImportPiece.objects.exists()
    # An import of the same file continues after the chunk that was stored.
    assert import_file(path, stated=Statement(confirmed=True)).record.added == LONG


@pytest.mark.parametrize(
    ("before", "after"), [("waiting", "refused"), ("undoing", "undoing")], ids=["file", "undo"]
)
def test_a_file_that_exceeds_its_limits_is_refused(
    file_of: FileOf, before: str, after: str
) -> None:
    record = kept_in_waiting(file_of("ada@example.org,Ada"))
    finished_at = Now() if before == "undoing" else None
    SubscriberImport.objects.update(state=before, finished_at=finished_at)
    owner = uuid4()
    assert claim(SubscriberImport, owner)

    IMPORTS.refuse(owner)

    record.refresh_from_db()
    code = "import_too_costly" if after == "refused" else None
    assert (record.state, (record.error or {}).get("code")) == (after, code)


def test_rows_of_long_cells_make_short_chunks() -> None:
    rows = [Row(n, "ada@example.org", (), cells=("x" * 60_000,)) for n in range(2 * CHUNK)]
    found = list(chunks(iter(rows)))
    assert [row for chunk in found for row in chunk] == rows
    assert max(map(len, found)) <= MOST_CHARACTERS_IN_CHUNK // 60_000 + 1
    short = [Row(n, "ada@example.org", ("Ada",)) for n in range(CHUNK + 1)]
    assert list(map(len, chunks(short))) == [CHUNK, 1]


def test_missing_bytes_of_a_stored_file_are_detected(file_of: FileOf) -> None:
    path = file_of("ada@example.org,Ada")
    record = kept_in_waiting(path)
    ImportPiece.objects.update(content=path.read_bytes()[:-5])
    run_next_import()
    record.refresh_from_db()
    assert record.state == "refused"
    assert record.error == {"code": "file_incomplete", "parameters": {}}


def test_concurrent_commands_with_one_file_import_it_once(
    file_of: FileOf, import_subscribers: ImportSubscribers, database_url: str
) -> None:
    path = file_of("ada@example.org,Ada")
    with blocked_imports(database_url):
        first = beside(lambda: import_subscribers(path))
        wait_until_blocked(database_url)
        second = beside(lambda: import_subscribers(path))
    done, repeated = (command.result(PATIENCE_S).summary for command in (first, second))
    assert (done["created"], done["added"]) == (True, 1)
    assert repeated == {**done, "created": False}


def test_a_reader_who_signs_up_during_an_import_is_known(
    file_of: FileOf,
    import_subscribers: ImportSubscribers,
    other_session: psycopg.Connection[Any],
    database_url: str,
) -> None:
    sign_up(other_session, "Ada@example.org")
    path = file_of("ada@example.org,A", "bob@example.org,B")
    importing = beside(lambda: import_subscribers(path, "--confirmed"))
    wait_until_blocked(database_url, "transactionid", "%INSERT INTO subscriber%")
    other_session.commit()
    assert importing.result(PATIENCE_S).counts == {"added": 1, "known": 1}
    assert Subscriber.objects.get(email_key="ada@example.org").state == "pending"


def test_a_too_large_file_is_refused_before_storing(file_of: FileOf, settings: Any) -> None:
    settings.IMPORT_MAX_MB = 1
    path = file_of("ada@example.org," + "a" * 100)
    os.truncate(path, 1024 * 1024 + 1)
    with pytest.raises(UnreadableFileError, match="larger than the limit of 1 MB"):
        import_file(path, stated=Statement(confirmed=True))
    assert not SubscriberImport.objects.exists()

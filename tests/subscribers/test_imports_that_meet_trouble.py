"""Imports as real processes: killed half-way, two at once, and beside people who sign up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from subscribers.importing.import_file import CHUNK
from subscribers.models import Subscriber, SubscriberImport

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 60  # ends a test that hangs, and decides nothing else
FileOf = Callable[..., Path]
StartImport = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def somebody_else(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    """Another connection, in a transaction of its own."""
    with psycopg.connect(database_url) as other:
        yield other
        other.rollback()


@pytest.fixture
def start_import(database_url: str) -> Iterator[StartImport]:
    """`manage.py import_subscribers --confirmed` as a process."""
    started: list[subprocess.Popen[str]] = []

    def start(path: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "import_subscribers", str(path), "--confirmed"],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database_url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def summary_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The JSON that a finished import printed last."""
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return dict(json.loads(out.splitlines()[-1]))


def wait_until_blocked(database_url: str, query: str, event: str) -> None:
    """Wait until a process waits for a lock. PostgreSQL gives no signal when somebody does."""
    with psycopg.connect(database_url, autocommit=True) as onlooker:
        for _ in range(PATIENCE_S * 50):
            found = onlooker.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND wait_event_type = 'Lock' AND wait_event = %s AND query LIKE %s",
                (event, query),
            ).fetchone()
            if found and found[0]:
                return
            onlooker.execute("SELECT pg_sleep(0.02)")
    raise AssertionError(f"Nobody waits in {query}.")


def sign_up(somebody_else: psycopg.Connection[Any], email: str) -> None:
    """Somebody signs up at this moment; their transaction stays open."""
    somebody_else.execute(
        "INSERT INTO subscriber (email, name, state, source) VALUES (%s, '', 'pending', 'sign-up')",
        (email,),
    )


def a_long_list(file_of: FileOf) -> Path:
    return file_of(*[f"reader{number}@example.org,Reader" for number in range(2 * CHUNK)])


def test_an_import_killed_half_way_has_changed_nothing_and_can_be_started_again(
    file_of: FileOf,
    start_import: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    path = a_long_list(file_of)
    sign_up(somebody_else, f"reader{CHUNK + 7}@example.org")  # stops it in its second chunk
    first = start_import(path)
    wait_until_blocked(database_url, "%INSERT INTO subscriber%", "transactionid")

    first.send_signal(signal.SIGKILL)
    first.wait(PATIENCE_S)
    somebody_else.rollback()

    summary = summary_of(start_import(path))
    assert summary["created"] is True
    assert summary["added"] == summary["rows"] == 2 * CHUNK
    assert Subscriber.objects.count() == 2 * CHUNK
    assert SubscriberImport.objects.count() == 1


def test_somebody_who_signs_up_meanwhile_is_known_and_stays_as_they_signed_up(
    file_of: FileOf,
    start_import: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    sign_up(somebody_else, "Reader7@example.org")
    process = start_import(a_long_list(file_of))
    wait_until_blocked(database_url, "%INSERT INTO subscriber%", "transactionid")

    somebody_else.commit()

    summary = summary_of(process)
    assert (summary["added"], summary["known"]) == (2 * CHUNK - 1, 1)
    assert Subscriber.objects.get(email_key="reader7@example.org").state == "pending"


def test_of_two_imports_of_one_file_at_once_one_does_the_work_and_both_report_it(
    file_of: FileOf,
    start_import: StartImport,
    somebody_else: psycopg.Connection[Any],
    database_url: str,
) -> None:
    path = a_long_list(file_of)
    sign_up(somebody_else, "reader7@example.org")
    first = start_import(path)
    wait_until_blocked(database_url, "%INSERT INTO subscriber%", "transactionid")
    second = start_import(path)
    wait_until_blocked(database_url, "%pg_advisory_xact_lock%", "advisory")

    somebody_else.rollback()

    done, told = summary_of(first), summary_of(second)
    assert done["created"] is True
    assert told == {**done, "created": False}
    assert Subscriber.objects.count() == 2 * CHUNK


def test_the_command_ends_with_1_and_one_sentence_when_a_file_cannot_be_imported(
    file_of: FileOf, start_import: StartImport
) -> None:
    process = start_import(file_of(content=b"%PDF-1.7\nemail,name\n"))

    out, err = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 1
    assert out == ""
    assert err.splitlines() == [
        (
            "CommandError: The file is a PDF document; expected is a list as text: open it in its "
            "own program, save the list as “CSV UTF-8” and import that."
        )
    ]

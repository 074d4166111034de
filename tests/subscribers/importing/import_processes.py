"""Imports in processes of their own, and a place where all of them stop until they may go on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from subscribers.importing.run import ONE_AT_A_TIME
from tests.freeze_process import freeze

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60  # ends a test that hangs, and decides nothing else


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class ImportProcess:
    """`manage.py import_subscribers` as a process."""

    def __init__(self, database_url: str, *options: str, **settings: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "import_subscribers", *options],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database_url, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Tests that were started in the background hand an ignored Ctrl-C down.
            preexec_fn=_heed_ctrl_c,
        )

    def freeze(self) -> None:
        """SIGSTOP, and wait until it stands still."""
        freeze(self._process.pid)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self._process.kill()
        self._process.communicate(timeout=PATIENCE_S)

    def end(self) -> tuple[int, str, str]:
        """Wait for its end: exit code, output, errors."""
        output, errors = self._process.communicate(timeout=PATIENCE_S)
        return self._process.returncode, output, errors

    def summary(self) -> dict[str, Any]:
        code, output, errors = self.end()
        assert code == 0, errors
        return dict(json.loads(output.splitlines()[-1]))


@contextmanager
def nobody_takes_a_turn(database_url: str) -> Iterator[None]:
    """While this lasts every import stands before its next piece, its transaction open."""
    with psycopg.connect(database_url) as other:
        other.execute(ONE_AT_A_TIME)
        yield
        other.rollback()


def eventually(database_url: str, question: str, *values: object) -> None:
    """Ask the database until it says yes. PostgreSQL gives no signal of what others do."""
    with psycopg.connect(database_url, autocommit=True) as onlooker:
        for _ in range(PATIENCE_S * 50):
            row = onlooker.execute(question, values).fetchone()
            if row and row[0]:
                return
            onlooker.execute("SELECT pg_sleep(0.02)")
    raise AssertionError(f"It never came to pass: {question}")


def wait_until_blocked(database_url: str, event: str = "advisory", query: str = "%") -> None:
    eventually(
        database_url,
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock' AND wait_event = %s AND query LIKE %s",
        event,
        query,
    )


def let_the_lease_run_out(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute(
            "UPDATE subscriber_import SET lease_until = clock_timestamp() - interval '1 s'"
            " WHERE lease_until IS NOT NULL"
        )


def sign_up(somebody_else: psycopg.Connection[Any], email: str) -> None:
    """Somebody signs up at this moment; their transaction stays open."""
    somebody_else.execute(
        "INSERT INTO subscriber (email, name, state, source) VALUES (%s, '', 'pending', 'sign-up')",
        (email,),
    )

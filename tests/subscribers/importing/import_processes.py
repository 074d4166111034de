"""Imports in separate processes, and a point where they all stop."""

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

from subscribers.importing.import_task import ONE_AT_A_TIME
from tests.freeze_process import freeze

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 60  # only ends a test that hangs


def _heed_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class ImportProcess:
    """A process that runs `manage.py import_subscribers`, or another command."""

    def __init__(
        self, database_url: str, *options: str, command: str = "import_subscribers", **settings: str
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", command, *options],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database_url, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # If the tests run in the background, they ignore Ctrl-C, and their processes would
            # inherit this.
            preexec_fn=_heed_ctrl_c,
        )

    def freeze(self) -> None:
        """Send SIGSTOP and wait until the process is frozen."""
        freeze(self._process.pid)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process and wait for its end."""
        self._process.kill()
        self._process.communicate(timeout=PATIENCE_S)

    def end(self) -> tuple[int, str, str]:
        """Wait for the end; return exit code, output and errors."""
        output, errors = self._process.communicate(timeout=PATIENCE_S)
        return self._process.returncode, output, errors

    def summary(self) -> dict[str, Any]:
        code, output, errors = self.end()
        assert code == 0, errors
        return dict(json.loads(output.splitlines()[-1]))


@contextmanager
def blocked_imports(database_url: str) -> Iterator[None]:
    """Stop every import before its next chunk, with an open transaction."""
    with psycopg.connect(database_url) as other:
        other.execute(ONE_AT_A_TIME)
        yield
        other.rollback()


def eventually(database_url: str, question: str, *values: object) -> None:
    """Repeat a query until it returns true; PostgreSQL sends no notification."""
    with psycopg.connect(database_url, autocommit=True) as onlooker:
        for _ in range(PATIENCE_S * 50):
            row = onlooker.execute(question, values).fetchone()
            if row and row[0]:
                return
            onlooker.execute("SELECT pg_sleep(0.02)")
    raise AssertionError(f"It never happened: {question}")


def wait_until_blocked(database_url: str, event: str = "advisory", query: str = "%") -> None:
    eventually(
        database_url,
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock' AND wait_event = %s AND query LIKE %s",
        event,
        query,
    )


def expire_lease(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute(
            "UPDATE subscriber_import SET lease_until = clock_timestamp() - interval '1 s'"
            " WHERE lease_until IS NOT NULL"
        )


def sign_up(other_session: psycopg.Connection[Any], email: str) -> None:
    """Sign up in a transaction that stays open."""
    other_session.execute(
        "INSERT INTO subscriber (email, name, state, source) VALUES (%s, '', 'pending', 'sign-up')",
        (email,),
    )


def children() -> set[int]:
    """Return the ids of the processes that this process has started."""
    tasks = Path("/proc/self/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}

"""Run `migrate` of a later release, and read its output as it comes.

The command runs in a thread or in a process.
"""

import io
import threading
import traceback
from contextlib import ExitStack

from django.core.management import CommandError, call_command
from django.db import connections

from tests.faults.processes.watched_process import Heard, WatchedProcess
from tests.faults.servers.postgres_server import OwnServer

LATER = "tests.faults.next_release.migrations"
LOCK_TIMEOUT_S, PATIENCE_S = "0.2", "100"


def migrate_in_a_process(database_url: str, *options: str) -> WatchedProcess:
    """Start a run that can be killed, and wait for its first output."""
    settings = {
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "tests.faults.next_release.settings",
        "MIGRATE_LOCK_TIMEOUT_S": LOCK_TIMEOUT_S,
        "MIGRATE_PATIENCE_S": PATIENCE_S,
    }
    command = ("migrate", "--noinput", *options)
    return WatchedProcess(*command, environment=settings, reads_output=True)


class WatchedMigrate(Heard):
    """One run in a thread, on Django's database or on the database of `url`.

    `output` is all of the run's output.
    """

    def __init__(self, server: OwnServer, *options: str, url: str = "") -> None:
        super().__init__()
        self._server, self._url = server, url
        self._options = ["--lock-timeout", LOCK_TIMEOUT_S, "--patience", PATIENCE_S, *options]
        self._exit_code = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        words = _Words(self)
        with ExitStack() as stack:
            if self._url:
                stack.enter_context(self._server.as_djangos_own(self._url))
            try:
                call_command("migrate", *self._options, no_input=True, stdout=words, stderr=words)
            except CommandError as error:
                self._exit_code = 1
                words.write(str(error))
            except BaseException:  # noqa: BLE001 -- it is part of the output
                self._exit_code = 2
                words.write(traceback.format_exc())
            finally:
                connections.close_all()
                self.hear(b"")

    def end(self, exit_code: int = 0, timeout_s: float = 100) -> None:
        """Wait for the end of the run; fail the test if it does not end as expected."""
        self._thread.join(timeout_s)
        assert not self._thread.is_alive(), self.output
        assert self._exit_code == exit_code, self.output


class _Words(io.TextIOBase):
    def __init__(self, heard: Heard) -> None:
        self._heard = heard

    def write(self, words: str) -> int:
        if words:
            self._heard.hear(words.encode())
        return len(words)

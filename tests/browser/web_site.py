"""The site as in production, in its own process, on the test's database."""

from __future__ import annotations

import io
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.core.management.base import OutputWrapper
from django.db import connections
from django.test import override_settings

from delivery.worker import drain
from delivery.worker.worker_process import Worker

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 60
# Settings that a worker shares with its site.
SHARED = ("POSTMARK_BASE_URL", "POSTMARK_SERVER_TOKEN", "SITE_URL")


@dataclass(frozen=True)
class WebSite:
    """A running site, and its workers in threads of this process."""

    url: str
    requests: RequestsInFlight
    environment: Mapping[str, str]

    def deliver(self) -> None:
        """Run a worker until all work that needs no author is done."""
        with self.worker(is_awaited=True):
            pass

    @contextmanager
    def worker(self, *, is_awaited: bool = False, **settings: Any) -> Iterator[None]:
        """Run a worker during the block; if `is_awaited`, it finishes all work first."""
        shared = {name: self.environment[name] for name in SHARED}
        # The worker starts processes for separate tasks, which read the environment.
        with patch.dict(os.environ, self.environment), override_settings(**shared, **settings):
            worker = Worker(is_awaited=is_awaited)

            def run() -> None:
                watch = drain.Drain(OutputWrapper(io.StringIO()), is_terminal=False)
                until = watch.is_drained if is_awaited else bool
                try:
                    worker.run(until=until)
                finally:
                    connections.close_all()

            # Use a separate thread, because a worker leaves its id and its connection in its
            # thread.
            thread = threading.Thread(target=run, name="worker of a test")
            thread.start()
            try:
                yield
            finally:
                if not is_awaited:
                    worker.stop()
                thread.join(PATIENCE_S)
                assert not thread.is_alive(), "the worker did not end"


class RequestsInFlight:
    """The number of requests that a site is answering, reported through a pipe."""

    def __init__(self) -> None:
        self._read, self.write = os.pipe()
        self._number = 0

    def wait_for_end(self) -> None:
        """Wait until the site has answered every request and writes no more rows."""
        while select.select([self._read], [], [], PATIENCE_S if self._number else 0)[0]:
            reports = os.read(self._read, 65536)
            self._number += reports.count(b"+") - reports.count(b"-")
        assert not self._number, "the site is still answering a request"

    def close(self) -> None:
        os.close(self._read)
        os.close(self.write)


@contextmanager
def running_site(
    database_url: str, provider_url: str, settings: Mapping[str, str], *, code: Path = ROOT
) -> Iterator[WebSite]:
    """Start the site of the folder `code` with these settings, and stop it afterwards.

    This process binds the socket and passes it on, so connections that arrive early wait in the
    socket's backlog. In the settings, `{port}` is the port.
    """
    requests = RequestsInFlight()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        url = f"http://127.0.0.1:{port}"
        environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "DEBUG": "on",  # plain HTTP: no secure cookies, no redirect to HTTPS
            "SITE_URL": url,
            "POSTMARK_BASE_URL": provider_url,
            "POSTMARK_SERVER_TOKEN": "sandbox",
            "PUBLISH_HOLD_S": "0",
            "SIGN_UPS_PER_HOUR": "1000",
            **{name: value.replace("{port}", port) for name, value in settings.items()},
        }
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.browser.reporting_site"),
                *(str(listener.fileno()), str(requests.write)),
            ],
            cwd=code,
            env=environment,
            pass_fds=[listener.fileno(), requests.write],
        )
        try:
            yield WebSite(url, requests, environment)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)
            requests.close()

"""The site as an operator runs it: gunicorn in a process of its own, on the test's database."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 60


@dataclass(frozen=True)
class WebSite:
    """A running site: where it is, and the environment that its worker needs too."""

    url: str
    environment: dict[str, str]

    def deliver(self) -> None:
        """Run a worker until nothing more will happen by itself."""
        subprocess.run(
            [sys.executable, "manage.py", "deliver", "--until-empty"],
            cwd=ROOT,
            env=self.environment,
            check=True,
            timeout=PATIENCE_S,
            stdout=subprocess.DEVNULL,
        )

    @contextmanager
    def worker(self, **settings: str) -> Iterator[None]:
        """A worker that runs meanwhile, with these settings of its own."""
        process = subprocess.Popen(
            [sys.executable, "manage.py", "deliver"],
            cwd=ROOT,
            env={**self.environment, **settings},
            stdout=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)


@contextmanager
def running_site(
    database_url: str, provider_url: str, settings: Mapping[str, str], *, code: Path = ROOT
) -> Iterator[WebSite]:
    """
    Start the site whose code is in `code`, with these settings beside those of every test, and
    stop it again.

    The socket is bound here and handed over, so there is no port to guess and nothing to wait
    for: whoever connects early stands in its queue.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "DEBUG": "on",  # plain http: no secure cookies, no redirect to https
            "SITE_URL": url,
            "POSTMARK_BASE_URL": provider_url,
            "POSTMARK_SERVER_TOKEN": "sandbox",
            "PUBLISH_HOLD_S": "0",
            **settings,
        }
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "newsletter_site.wsgi", "--threads", "8"),
                *("--bind", f"fd://{listener.fileno()}", "--log-level", "warning"),
            ],
            cwd=code,
            env=environment,
            pass_fds=[listener.fileno()],
        )
        try:
            yield WebSite(url, environment)
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)

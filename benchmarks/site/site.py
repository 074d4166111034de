"""Make a site for one benchmark: a new database, an author and a fast provider.

The database has full durability. The site has the settings of a server: with DEBUG, Django would
keep and format every statement. The site is removed when the benchmark ends, also after an error.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import requests

from benchmarks.cpu_time import children_of
from benchmarks.letter import HOST, LETTER, SENDER, TITLE
from benchmarks.site.own_server import own_server
from benchmarks.site.provider_process import ROOT, ProviderProcess, a_provider
from newsletter_site.embedded_postgres import database_url

# Only these variables of the shell's environment are kept.
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
# Functions of the benchmarks run only in a site whose environment has this variable.
OF_A_BENCHMARK = "HOMING_BENCHMARK"
UP_WITHIN_S = 30.0

_READERS = """
    INSERT INTO subscriber (email, name, state, source, created_at, confirmed_at, requests,
                            record_requests)
    SELECT 'reader' || n || '@example.net', 'Reader ' || n, 'confirmed', 'sign-up', now(), now(),
           0, 0
    FROM generate_series((SELECT count(*) FROM subscriber) + 1, %s) AS n
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A site with its folder, database, provider and settings."""

    folder: Path
    database: str
    provider: ProviderProcess
    settings: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of a new process, with the provider's current address."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        ours = {"POSTMARK_BASE_URL": self.provider.url, OF_A_BENCHMARK: str(self.folder)}
        return kept | self.settings | ours

    def manage(self, *command: str, **settings: str) -> str:
        """Run a management command under these settings; return its output.

        Raises an error if the command fails.
        """
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment | settings,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    @contextmanager
    def running(self, *command: str, **settings: str) -> Iterator[subprocess.Popen[str]]:
        """Run a management command during the block, then kill all its processes."""
        process = subprocess.Popen(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment | settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with process:  # This closes the process's pipe even if nobody has read it.
            try:
                yield process
            finally:
                kill(process)

    def connect(self) -> psycopg.Connection[Any]:
        """Open a connection to the site's database that commits every statement."""
        return psycopg.connect(self.database, autocommit=True)

    def one(self, sql: str, *values: Any) -> Any:
        """Return the first value of a statement's first row."""
        with self.connect() as connection:
            row = connection.execute(sql, values or None).fetchone()
        assert row is not None, sql
        return row[0]

    def setting(self, name: str) -> str:
        """Return a setting of the site as Python's `repr` shows it."""
        lines = self.manage("diffsettings", "--all").splitlines()
        values = dict(line.lstrip("# ").split(" = ", 1) for line in lines if " = " in line)
        return values.get(name, "1").partition("  ###")[0]

    def readers(self, number: int, *, analyse: bool = True) -> None:
        """Add readers until this many are confirmed; `analyse` updates statistics."""
        with self.connect() as connection:
            connection.execute(_READERS, [number])
            if analyse:
                connection.execute("VACUUM (ANALYZE) subscriber")
        confirmed = self.one("SELECT count(*) FROM subscriber WHERE state = 'confirmed'")
        if confirmed != number:
            raise RuntimeError(f"The list has {confirmed:,} readers, and {number:,} were wanted.")

    def publish(self, **settings: str) -> str:
        """Publish an issue to all readers, to be sent at once; return the issue's id."""
        letter = self.folder / "letter.html"
        letter.write_text(LETTER)
        words = ("--title", TITLE, "--html-file", str(letter), "--hold=0")
        output = self.manage("publish", *words, **settings)
        return str(json.loads(output.splitlines()[-1])["issue"])


def kill(process: subprocess.Popen[str]) -> None:
    """Send SIGKILL to a process and its children; wait until the process has ended."""
    # Kill the parent first, because a running parent might start new children.
    children = list(children_of(process.pid)) if process.poll() is None else []
    process.kill()
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    process.wait()


@contextmanager
def a_site(*, delay_ms: float = 0.0) -> Iterator[Site]:
    """Run a migrated site with an author and an empty list.

    The site's provider answers after `delay_ms` milliseconds.
    """
    with own_server() as folder, a_provider(delay_ms=delay_ms) as provider:
        site = Site(folder, database_url(folder), provider, _production(folder))
        site.manage("migrate", "--verbosity", "0")
        site.manage("collectstatic", "--noinput", "--verbosity", "0")
        author = ("--username", "author", "--email", "author@example.org")
        site.manage("createsuperuser", "--noinput", *author)
        yield site


@contextmanager
def a_web_server(site: Site) -> Iterator[str]:
    """Run the site's web server for the block; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        bind = f"127.0.0.1:{free.getsockname()[1]}"
    with site.running("serve", "--bind", bind) as process:
        _wait_until_up(f"http://{bind}", process)
        yield f"http://{bind}"


def _wait_until_up(address: str, process: subprocess.Popen[str]) -> None:
    line = requests.Session()
    line.trust_env = False  # ignore proxies that the environment names
    until = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            if line.get(f"{address}/health/live/", timeout=UP_WITHIN_S).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    raise RuntimeError(f"The web server did not answer within {UP_WITHIN_S:g} s.")


def _production(folder: Path) -> dict[str, str]:
    """Return settings of a real site, for which `check --deploy` finds nothing wrong."""
    return {
        "DEBUG": "off",
        "DATABASE_URL": database_url(folder),
        "HOMING_DATA_DIR": str(folder),
        "STATIC_ROOT": str(folder / "static"),
        "SECRET_KEY": secrets.token_urlsafe(50),
        "SITE_URL": f"https://{HOST}",
        # Measurements call the web server directly, as its proxy would.
        "ALLOWED_HOSTS": f"{HOST},127.0.0.1",
        "TRUST_PROXY": "on",
        "FROM_EMAIL": SENDER,
        "POSTMARK_SERVER_TOKEN": "benchmark",
        "POSTMARK_WEBHOOK_USER": "postmark",
        "POSTMARK_WEBHOOK_PASSWORD": secrets.token_urlsafe(20),
        "METRICS_TOKEN": secrets.token_urlsafe(20),
    }

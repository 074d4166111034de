"""
A site for one benchmark: a fresh database with full durability that stays up between commands, an
author, and a provider that answers at once. It ends with the benchmark, whatever ends that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# About 2 kB.
LETTER = "<p>Dear {{ name|reader }}, the swifts have gone. </p>" + "<p>Nobody saw them.</p>" * 95

# Holds the database open until its input ends.
_KEEP_UP = (
    "from django.db import connection; connection.ensure_connection(); print('up', flush=True); "
    "input()"
)


@dataclass(frozen=True, slots=True)
class Site:
    """Where it stands: its folder, its environment, the addresses of provider and database."""

    folder: Path
    environment: dict[str, str]
    provider: str
    database: str

    def manage(self, *command: str) -> str:
        """The output of one management command; ends the benchmark if it fails."""
        done = subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{command[0]} failed:\n{done.stderr}")
        return done.stdout


@contextmanager
def a_site() -> Iterator[Site]:
    """A migrated site with an author and nobody on the list."""
    with tempfile.TemporaryDirectory(prefix="homing-benchmark-") as folder, _provider() as address:
        site = Site(
            Path(folder),
            {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
            | {
                "HOMING_DATA_DIR": folder,
                "DEBUG": "on",
                "POSTMARK_BASE_URL": address,
                "POSTMARK_SERVER_TOKEN": "benchmark",
            },
            address,
            _database_in(Path(folder)),
        )
        site.manage("migrate")
        site.manage(
            *("createsuperuser", "--noinput", "--username", "author"),
            *("--email", "author@example.org"),
        )
        with _kept_up(site):
            yield site


def _database_in(folder: Path) -> str:
    # The checkout is not on the path of a script that stands beside it.
    sys.path.insert(0, str(ROOT))
    from newsletter_site import embedded_postgres

    return embedded_postgres.database_url(folder)


@contextmanager
def _provider() -> Iterator[str]:
    provider = subprocess.Popen(
        [sys.executable, "benchmarks/instant_provider.py"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert provider.stdout is not None
        yield provider.stdout.readline().strip()
    finally:
        provider.terminate()
        provider.communicate()


@contextmanager
def _kept_up(site: Site) -> Iterator[None]:
    keeper = subprocess.Popen(
        [sys.executable, "manage.py", "shell", "-c", _KEEP_UP],
        cwd=ROOT,
        env=site.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert keeper.stdout is not None
        # The shell says something of its own before.
        while (line := keeper.stdout.readline()) != "up\n":
            assert line, "the database did not come up"
        yield
    finally:
        keeper.communicate("\n")

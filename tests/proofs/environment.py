"""The environment of a proof, and a PostgreSQL as durable as in production."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import django
from django.contrib.auth import get_user_model

from tests.faults.servers.postgres_server import TEMPLATE, OwnServer
from tests.postgres_cluster import ROOT

# The variables of the shell that a proof keeps.
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "HOMING_POSTGRES_BIN")
ENVIRONMENT = {
    "DEBUG": "off",
    "SECRET_KEY": "a key for tests alone, long enough to be taken for one: 0123456789",
    "POSTMARK_SERVER_TOKEN": "sandbox",
    "SITE_URL": "https://letter.example.org",
    "PUBLISH_HOLD_S": "0",
    "PYTHONUNBUFFERED": "1",
}
USERNAME = "author"
PASSWORD = "a long password of no worth 1789"
# `fairness` reads the time at which the publishing was committed.
DURABLE = "\ntrack_commit_timestamp = on\n"


def clean_environment() -> None:
    """Set the environment of a proof, for this process and its children."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update(kept | ENVIRONMENT)


def set_up() -> None:
    """Set Django up without a database; each proof names its own."""
    # Only for this process: child processes that run pytest need the settings of the tests.
    ours = {
        "DATABASE_URL": "postgres://127.0.0.1:9/none",
        "DJANGO_SETTINGS_MODULE": "newsletter_site.settings",
    }
    os.environ.update(ours)
    django.setup()
    for name in ours:
        del os.environ[name]


@contextmanager
def ground(configuration: str = DURABLE) -> Iterator[OwnServer]:
    """Start a server with an author in each database; remove it after the block."""
    server = OwnServer(configuration)
    try:
        with server.as_djangos_own(server.url(TEMPLATE)):
            get_user_model().objects.create_superuser(USERNAME, "author@example.org", PASSWORD)
        yield server
    finally:
        server.remove()


def manage(url: str, *command: str, **settings: str) -> str:
    """Return the output of a command. Raises `RuntimeError` if it fails."""
    done = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": url} | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout

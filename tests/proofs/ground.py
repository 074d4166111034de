"""The ground of a proof: its environment, and a PostgreSQL server as durable as in production."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import django
from django.contrib.auth import get_user_model

from tests.faults.own_server import TEMPLATE, OwnServer
from tests.own_cluster import ROOT

# Of the shell's environment only this stays.
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "newsletter_site.settings",
    "DEBUG": "off",
    "SECRET_KEY": "a key for tests alone, long enough to be taken for one: 0123456789",
    "POSTMARK_SERVER_TOKEN": "sandbox",
    "SITE_URL": "https://letter.example.org",
    "PUBLISH_HOLD_S": "0",
    "PYTHONUNBUFFERED": "1",
}
USERNAME = "author"
PASSWORD = "a long password of no worth 1789"
# Commit times are kept, so that a publication's can be read.
DURABLE = "\ntrack_commit_timestamp = on\n"


def clean_environment() -> None:
    """Give this process, and so its children, the environment of a proof."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update(kept | ENVIRONMENT)


def set_up() -> None:
    """Set Django up. No database is named: each is, where it is used."""
    os.environ["DATABASE_URL"] = "postgres://127.0.0.1:9/none"
    django.setup()
    del os.environ["DATABASE_URL"]


@contextmanager
def ground(configuration: str = DURABLE) -> Iterator[OwnServer]:
    """A server with an author in each of its databases, gone at the end of the block."""
    server = OwnServer(configuration)
    try:
        with server.as_djangos_own(server.url(TEMPLATE)):
            get_user_model().objects.create_superuser(USERNAME, "author@example.org", PASSWORD)
        yield server
    finally:
        server.remove()


def manage(url: str, *command: str, **settings: str) -> str:
    """Return the output of a management command; RuntimeError if it fails."""
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

"""Ensure that no other process uses the demo's folder and database.

The counts would be wrong.
"""

import hashlib
import os
import socket
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.models.functions import Now

from delivery.models import WorkerHeartbeat
from newsletter_site.demo.terminal import Terminal
from newsletter_site.embedded_postgres.private_files import try_lock
from subscribers.models import Subscriber

READERS: Path = settings.BASE_DIR / "newsletter_site" / "demo" / "material" / "readers.csv"
# The children of a killed demo end within seconds.
LOCK_WAIT_S = 6.0
HEARD_FROM_WITHIN = timedelta(seconds=60)


class DemoError(CommandError):
    """The demo cannot continue. The text says why, and what to do."""


def lock_folder(folder: Path, terminal: Terminal) -> int:
    """Lock `folder` and return the open file.

    Raise `DemoError` if another demo has the lock.
    """
    # A lock needs only read access, so a file created by root works for other users too.
    lock = os.open(folder / "demo.lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    deadline = time.monotonic() + LOCK_WAIT_S
    while not try_lock(lock):
        if time.monotonic() > deadline:
            raise DemoError(
                f"A demo is already running in {folder}. Use that one, or end it first."
            )
        terminal.pause()
    return lock


def refuse_other_readers() -> None:
    """Raise `DemoError` if the database has readers, but none that the demo imported.

    In the demo's own database, readers may sign up or be added between two starts.
    """
    if Subscriber._meta.db_table not in connection.introspection.table_names():
        return
    ours = hashlib.sha256(READERS.read_bytes()).digest()
    if Subscriber.objects.filter(subscriber_import__content_hash=ours).exists():
        return
    if others := Subscriber.objects.count():
        raise DemoError(
            f"The demo stops and changes nothing, because the database has other readers "
            f"({others:,}). To start from nothing, set HOMING_DATA_DIR to an empty folder, or "
            "DATABASE_URL to an empty database."
        )


def refuse_other_workers() -> None:
    """Raise `DemoError` if another worker uses this database."""
    for worker in WorkerHeartbeat.objects.filter(heard_at__gt=Now() - HEARD_FROM_WITHIN):
        if worker.host == socket.gethostname():
            try:
                with suppress(PermissionError):  # The process belongs to another user.
                    os.kill(worker.pid, 0)
            except ProcessLookupError:
                continue
        raise DemoError(
            f"A worker is already running on {worker.host} (process {worker.pid}). End it first: "
            "it would send the demo's mail elsewhere."
        )

"""Ensure that only one demo uses its database: others would change its counts."""

import hashlib
import os
import socket
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.models.functions import Now

from delivery.models import WorkerHeartbeat
from subscribers.models import Subscriber

READERS: Path = settings.BASE_DIR / "newsletter_site" / "demo" / "material" / "readers.csv"
HEARD_FROM_WITHIN = timedelta(seconds=60)


class DemoError(CommandError):
    """The demo cannot continue. The text says why, and what to do."""


def refuse_other_readers() -> None:
    """Raise `DemoError` if the database has readers, but not those of the demo.

    Further readers are allowed in the demo's own database, because they may sign up or be added
    between two runs of the demo.
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

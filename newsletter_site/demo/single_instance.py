"""Make sure that a demo has its folder and its database to itself, or its count would be wrong."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from django.db.models.functions import Now

from delivery.models import WorkerHeartbeat
from newsletter_site.demo.child_processes import DemoError
from newsletter_site.demo.terminal import StopSignals
from newsletter_site.embedded_postgres.private_files import try_lock

# The children of a killed demo end within seconds.
LOCK_WAIT_S = 6.0
HEARD_FROM_WITHIN = timedelta(seconds=60)


@contextmanager
def locked_folder(folder: Path, stop: StopSignals) -> Iterator[int]:
    """Lock `folder`, for the children to inherit. Raises `DemoError` if a demo has it."""
    # Reading is enough for a lock, so a file made by root serves other users too.
    lock = os.open(folder / "demo.lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + LOCK_WAIT_S
        while not try_lock(lock):
            if time.monotonic() > deadline:
                raise DemoError(
                    f"A demo is already running in {folder}: use that one, or end it first."
                )
            stop.pause()
        yield lock
    finally:
        os.close(lock)


def refuse_other_workers() -> None:
    """Raise `DemoError` if another worker uses this database."""
    for worker in WorkerHeartbeat.objects.filter(heard_at__gt=Now() - HEARD_FROM_WITHIN):
        if worker.host != socket.gethostname() or _is_running(worker.pid):
            raise DemoError(
                f"A worker is already running on {worker.host} (process {worker.pid}); it would "
                "send the demo's mail to another place, so end it first."
            )


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # It belongs to another user.
    return True

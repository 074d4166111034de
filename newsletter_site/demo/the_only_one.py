"""
The promise that a demo has its folder and its database to itself.

Two demos, or a demo and a worker that mails to somewhere else, would each see only a part of the
copies, and the count at the end would be wrong.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from django.db.models.functions import Now

from delivery.models import Worker
from newsletter_site.demo.failure import DemoError

# A demo that was killed takes its children with it within seconds.
PATIENCE_S = 15.0
HEARD_FROM_WITHIN = timedelta(seconds=60)


@contextmanager
def folder_to_itself(folder: Path, pause: Callable[[], None]) -> Iterator[int]:
    """
    Hold the folder's lock, and yield its descriptor for the children to inherit.

    So it is free again only when the last of them is gone. Raises `DemoError`.
    """
    # Opened for reading, so that a file made by root serves others too.
    lock = os.open(folder / "demo.lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not _taken(lock):
            if time.monotonic() > deadline:
                raise DemoError(
                    f"A demo is already running in {folder}: use that one, or end it first."
                )
            pause()
        yield lock
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def refuse_other_workers() -> None:
    """Raise `DemoError` if a worker that is not ours is at work on this database."""
    for worker in Worker.objects.filter(heard_at__gt=Now() - HEARD_FROM_WITHIN):
        if worker.host != socket.gethostname() or _lives(worker.pid):
            raise DemoError(
                f"A worker is already running on {worker.host} (process {worker.pid}); it would "
                "send the demo's mail to another place, so end it first."
            )


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

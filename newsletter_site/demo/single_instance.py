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
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from django.db.models.functions import Now

from delivery.models import Worker
from newsletter_site.demo.failure import DemoError

# A demo that was killed takes its children with it within seconds.
PATIENCE_S = 6.0
POLL_S = 0.05
HEARD_FROM_WITHIN = timedelta(seconds=60)


@contextmanager
def folder_to_itself(folder: Path, pause: Callable[[], None]) -> Iterator[int]:
    """
    Hold the lock of `folder` for a block, and yield its descriptor for the children to inherit.

    So it is free again when the last process of a demo is gone, and the block is not left before
    that. Raises `DemoError` if another demo keeps it.
    """
    lock = _opened(folder)
    try:
        _take(lock, folder, pause)
    except BaseException:
        os.close(lock)
        raise
    try:
        yield lock
    finally:
        os.close(lock)
        _wait_for_the_last(folder)


def _take(lock: int, folder: Path, pause: Callable[[], None]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not _taken(lock):
        if time.monotonic() > deadline:
            raise DemoError(
                f"A demo is already running in {folder}: use that one, or end it first."
            )
        pause()


def _opened(folder: Path) -> int:
    # Reading is enough for a lock, so a file made by root serves others too.
    return os.open(folder / "demo.lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for_the_last(folder: Path) -> None:
    """Until nobody holds a copy of the lock: a child of a child may need a moment longer."""
    with suppress(FileNotFoundError):  # Somebody has removed the folder meanwhile.
        lock = _opened(folder)
        deadline = time.monotonic() + PATIENCE_S
        while not _taken(lock) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        os.close(lock)


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

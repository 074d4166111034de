"""The only place that locks files between processes.

The locks are of the kind that belongs to an open file (`flock`): whoever dies, by kill -9 too,
gives them back. They are polled for, not slept on, so that a frozen holder cannot freeze us.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from newsletter_site.embedded_postgres.failure import EmbeddedPostgresError
from newsletter_site.embedded_postgres.server_user import ServerUser

PATIENCE_S = 120.0
POLL_S = 0.02


def open_lock(path: Path, user: ServerUser) -> int:
    """Open the lock file `path`, made for `user` if it is missing; never through a link."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(lock)
    if found.st_uid == os.geteuid() != user.uid and found.st_nlink == 1:
        os.fchown(lock, user.uid, user.gid)
    return lock


def shared(lock: int) -> bool:
    """Take `lock` together with others; False if someone has it alone."""
    return taken(lock, fcntl.LOCK_SH)


def alone(lock: int) -> bool:
    """Take `lock` alone; False if anyone else has it."""
    return taken(lock, fcntl.LOCK_EX)


def taken(lock: int, how: int) -> bool:
    """Try once to take `lock`."""
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(path: Path, user: ServerUser, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Hold the lock file `path` alone for the length of a block.

    Raises EmbeddedPostgresError if another process keeps it for longer than `patience_s` seconds.
    """
    lock = open_lock(path, user)
    try:
        deadline = time.monotonic() + patience_s
        while not alone(lock):
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"Another process has held {path} for {patience_s:.0f} seconds: see whether "
                    "one is frozen (`ps` shows state T), and end it."
                )
            time.sleep(POLL_S)
        yield
    finally:
        os.close(lock)

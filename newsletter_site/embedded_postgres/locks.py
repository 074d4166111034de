"""File locks between processes. Waiting is polling, so a frozen holder cannot freeze us."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from newsletter_site.embedded_postgres.server_user import EmbeddedPostgresError, ServerUser

TIMEOUT_S = 120.0
POLL_S = 0.02


def open_lock(path: Path, user: ServerUser) -> int:
    """Open the lock file `path`, created for `user` if it is missing; never through a link."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(lock)
    if found.st_uid == os.geteuid() != user.uid and found.st_nlink == 1:
        os.fchown(lock, user.uid, user.gid)
    return lock


def try_lock(lock: int, *, shared: bool = False) -> bool:
    """Take `lock`, alone or shared; False if that conflicts with another process."""
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(path: Path, user: ServerUser, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Hold the lock file `path` exclusively. Raises EmbeddedPostgresError after `timeout_s`."""
    lock = open_lock(path, user)
    try:
        deadline = time.monotonic() + timeout_s
        while not try_lock(lock):
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"Another process has held {path} for {timeout_s:.0f} seconds: see "
                    "whether one is frozen (`ps` shows state T), and end it."
                )
            time.sleep(POLL_S)
        yield
    finally:
        os.close(lock)

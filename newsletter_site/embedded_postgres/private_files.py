"""The data folder, private folders in /tmp, and file locks between processes.

Names in /tmp can be guessed, so folders are checked before use. A process asks for a lock again and
again until a time limit, so a frozen holder does not freeze the process too.
"""

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from newsletter_site.embedded_postgres.server_user import EmbeddedPostgresError, ServerUser

TIMEOUT_S = 120.0
POLL_S = 0.02


def prepare_data_dir(data_dir: Path) -> Path:
    """Create the data folder if it is missing, and return its real path.

    If root creates the folder, it belongs to the owner of the parent folder, so that this owner can
    use it later. If root owns the parent folder too, other users may pass through the new folder,
    because PostgreSQL runs as another user.
    """
    data_dir = data_dir.expanduser().absolute()
    if not data_dir.exists():
        if not data_dir.parent.exists():
            prepare_data_dir(data_dir.parent)
        try:
            data_dir.mkdir(mode=0o700, exist_ok=True)
            if os.geteuid() == 0:
                parent = data_dir.parent.stat()
                os.chown(data_dir, parent.st_uid, parent.st_gid)
                data_dir.chmod(0o711 if parent.st_uid == 0 else 0o700)
        except OSError as error:
            raise EmbeddedPostgresError(
                f"The data folder {data_dir} cannot be created ({error.strerror}). Set "
                "HOMING_DATA_DIR to a folder that this user may write to, or set DATABASE_URL."
            ) from error
    return data_dir.resolve()


def private_folder(folder: Path, user: ServerUser) -> Path:
    """Create `folder` for `user` with mode 0700.

    Raise EmbeddedPostgresError if an existing folder has another owner or lets others in.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise EmbeddedPostgresError(
            f"{folder} cannot be created ({error.strerror}). Set HOMING_DATA_DIR to a folder that "
            "this user may write to, or set DATABASE_URL."
        ) from error
    found = folder.lstat()
    # The folder may still belong to this process's user: it is new, or an earlier process was
    # killed before this line.
    if found.st_uid == os.geteuid() != user.uid:
        os.chown(folder, user.uid, user.gid, follow_symlinks=False)
        found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user.uid or found.st_mode & 0o077:
        raise EmbeddedPostgresError(
            f"{folder} is not a private folder of user {user.uid}. Remove it, set HOMING_DATA_DIR "
            "to another folder, or set DATABASE_URL."
        )
    return folder


def named_for(public: Path, key: str, user: ServerUser) -> Path:
    """Return the path of a private folder in `public`, named for `user` and `key`."""
    mark = hashlib.sha256(f"{user.uid} {key}".encode(errors="surrogateescape")).hexdigest()[:16]
    return public / f"homing-{mark}"


def open_lock(path: Path, user: ServerUser) -> int:
    """Open the lock file `path`, and create it for `user` if it is missing.

    Return its descriptor. Never follow a link.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(lock)
    if found.st_uid == os.geteuid() != user.uid and found.st_nlink == 1:
        os.fchown(lock, user.uid, user.gid)
    return lock


def try_lock(lock: int, *, shared: bool = False) -> bool:
    """Take `lock` exclusively, or shared if `shared` is true.

    Return False if another process has a conflicting lock.
    """
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(path: Path, user: ServerUser, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Hold the lock file `path` exclusively.

    Raise EmbeddedPostgresError after `timeout_s`.
    """
    lock = open_lock(path, user)
    try:
        deadline = time.monotonic() + timeout_s
        while not try_lock(lock):
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"Another process has held the lock {path} for {timeout_s:.0f} seconds. If "
                    "that process is frozen (`ps` shows state T), end it."
                )
            time.sleep(POLL_S)
        yield
    finally:
        os.close(lock)

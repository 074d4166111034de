"""The data folder, and folders in /tmp, whose names can be guessed: they are checked before use."""

import hashlib
import os
import stat
from pathlib import Path

from newsletter_site.embedded_postgres.server_user import EmbeddedPostgresError, ServerUser


def prepare_data_dir(data_dir: Path) -> Path:
    """Create the data folder if it is missing and return its real path. A folder that root creates
    belongs to the owner of its parent, who can use it later. Others may pass through one of root's
    own, because the server in it runs as another user."""
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
                f"The data folder {data_dir} cannot be made ({error.strerror}): set "
                "HOMING_DATA_DIR to a folder that this user may write to, or set DATABASE_URL."
            ) from error
    return data_dir.resolve()


def private_folder(folder: Path, user: ServerUser) -> Path:
    """Create `folder`, mode 0700 and owned by `user`; EmbeddedPostgresError if it differs."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise EmbeddedPostgresError(
            f"{folder} cannot be made ({error.strerror}): set HOMING_DATA_DIR to a folder that "
            "this user may write to, or set DATABASE_URL."
        ) from error
    found = folder.lstat()
    if found.st_uid == os.geteuid() != user.uid:  # New, or left by a process that was killed here.
        os.chown(folder, user.uid, user.gid, follow_symlinks=False)
        found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user.uid or found.st_mode & 0o077:
        raise EmbeddedPostgresError(
            f"{folder} should be a folder of user {user.uid} that is closed to all others, and is "
            "not: remove it, set HOMING_DATA_DIR to another folder, or set DATABASE_URL."
        )
    return folder


def named_for(public: Path, key: str, user: ServerUser) -> Path:
    """The path under `public` of the private folder that `user` has for `key`."""
    mark = hashlib.sha256(f"{user.uid} {key}".encode(errors="surrogateescape")).hexdigest()[:16]
    return public / f"homing-{mark}"

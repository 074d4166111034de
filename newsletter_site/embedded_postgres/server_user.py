"""The system user that runs the server, because PostgreSQL refuses to run as root."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.utils import OperationalError

# The caller's PGDATA, PGOPTIONS, LC_ALL and so on must not reach the server.
SERVER_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


class EmbeddedPostgresError(OperationalError):
    """The embedded server is unusable; the error's text says why and what to do."""


@dataclass(frozen=True)
class ServerUser:
    """The system user that owns the server's files and runs it."""

    uid: int
    gid: int

    @property
    def is_us(self) -> bool:
        return self.uid == os.geteuid()


def server_user(data_dir: Path) -> ServerUser:
    """Return the user that runs the server: the current user, if it is not root.

    PostgreSQL refuses to run as root. If the current user is root, return the first owner who is
    not root: of the data folder, or else of a server's folder in it. If root owns all these
    folders, return the user `postgres`, or `nobody` if there is no user `postgres`.
    """
    if os.geteuid() != 0:
        return ServerUser(os.geteuid(), os.getegid())
    for folder in (data_dir, *sorted(data_dir.glob("postgresql-*"))):
        found = folder.stat()
        if found.st_uid != 0:
            return ServerUser(found.st_uid, found.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return ServerUser(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and the users postgres and nobody do not exist. Run this "
        "as a normal user, or set DATABASE_URL."
    )


def run_as(user: ServerUser, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `command` as `user`, detached from our terminal, folder and environment."""
    identity: dict[str, Any] = {}
    if not user.is_us:
        identity = {"user": user.uid, "group": user.gid, "extra_groups": []}
    return subprocess.run(
        [str(part) for part in command],
        cwd="/",
        env=SERVER_ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        umask=0o077,
        start_new_session=True,  # Ctrl-C in the terminal must not reach the server.
        **identity,
    )


def can_enter(user: ServerUser, folder: Path) -> bool:
    """Return whether `user` may pass through `folder` and every folder above it."""
    return run_as(user, "/bin/sh", "-c", 'cd -- "$1"', "sh", folder).returncode == 0

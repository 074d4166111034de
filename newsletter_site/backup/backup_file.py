"""The file of a backup: a zip with a manifest and a dump that pg_dump wrote.

If Homing is not installed, `unzip FILE database.dump` extracts the dump for pg_restore.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile

from django.utils.translation import gettext as _

from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.manifest import Manifest

DUMP, MANIFEST = "database.dump", "manifest.json"
CHUNK = 1 << 20
LONGEST_MANIFEST = 1 << 20  # bytes; a manifest has about a kilobyte

Report = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A complete backup. `checksum` is the CRC-32 of its dump."""

    path: Path
    manifest: Manifest
    checksum: int

    def chunks(self, report: Report = lambda _: None) -> Iterator[bytes]:
        """Yield the dump. Raise BadZipFile if the file now contains another dump.

        `report` gets the number of bytes read so far.
        """
        size = 0
        with ZipFile(self.path) as backup, backup.open(DUMP) as dump:
            if self.checksum != backup.getinfo(DUMP).CRC:
                raise BadZipFile("another dump")
            while chunk := dump.read(CHUNK):
                size += len(chunk)
                yield chunk
                report(size)


@contextmanager
def new_file(path: Path, *, replaces: bool) -> Iterator[BinaryIO]:
    """When the block ends, create the file `path`, which only its owner can read.

    Until then, the file has another name. If the block fails, the file is removed. If the process
    is killed, the unfinished file stays, and the next run overwrites it. If `path` is a symbolic
    link, the link stays and its target is written. Raise BackupRefusedError if the file cannot be
    written.
    """
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(f"{target.name}.unfinished") if target.name else target
    try:
        _require_free(path, target, replaces=replaces)
        with open(unfinished, "r+b", opener=_create) as file:
            _lock(file, unfinished)
            try:
                os.fchmod(file.fileno(), 0o600)
                file.truncate()
                yield file
                file.flush()
                os.fsync(file.fileno())
                unfinished.replace(target)
            except BaseException:
                with suppress(OSError):
                    unfinished.unlink()
                raise
        _sync(target.parent)
    except OSError as error:
        raise BackupRefusedError(
            _("{path} cannot be written: {error}. Name another file.").format(
                path=path, error=error.strerror or error
            )
        ) from error


def _require_free(path: Path, target: Path, *, replaces: bool) -> None:
    if not os.path.lexists(target):
        return
    _require_regular(path)
    if not replaces:
        raise BackupRefusedError(
            _("{path} exists. Name another file, or overwrite it with --force.").format(path=path)
        )


def _require_regular(path: Path) -> None:
    """Refuse a folder, a device or a pipe. Opening a pipe would wait for its writer."""
    if path.exists() and not path.is_file():
        raise BackupRefusedError(
            _("{path} is not a regular file. Name another file.").format(path=path)
        )


def _create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _lock(file: BinaryIO, unfinished: Path) -> None:
    """Lock the unfinished file, or raise BackupRefusedError if another run uses it.

    If another run has just given the file its final name, `file` is that finished backup, so raise
    the error in this case too.
    """
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file.fileno()), unfinished.stat()):
            return
    raise BackupRefusedError(
        _("Another backup is writing {path}. Wait until it has ended.").format(path=unfinished)
    )


def _sync(folder: Path) -> None:
    """Write the folder to the disk, so that its new file survives a machine crash."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_backup(file: BinaryIO, manifest: Manifest, dump: Iterator[bytes], report: Report) -> None:
    """Write a backup. `report` gets the number of bytes written so far."""
    size = 0
    with ZipFile(file, "w") as backup:
        with backup.open(DUMP, "w", force_zip64=True) as member:
            for chunk in dump:
                size += member.write(chunk)
                report(size)
        backup.writestr(MANIFEST, manifest.as_json())


def read_backup(path: Path, report: Report) -> BackupFile:
    """Read a backup and compare its checksum, or raise BackupRefusedError."""
    _require_regular(path)
    try:
        with ZipFile(path) as file:
            with file.open(MANIFEST) as stated:
                manifest = Manifest.from_json(stated.read(LONGEST_MANIFEST).decode())
            backup = BackupFile(path, manifest, file.getinfo(DUMP).CRC)
        for _chunk in backup.chunks(report):
            pass
    except OSError as error:
        raise BackupRefusedError(
            _("{path} cannot be read: {error}.").format(path=path, error=error.strerror or error)
        ) from error
    except (BadZipFile, KeyError, ValueError, RuntimeError) as error:
        found = " ".join(str(error).strip("'\"").split())
        raise BackupRefusedError(
            _("{path} is not a complete backup ({why}). Use another one.").format(
                path=path, why=found
            )
        ) from error
    return backup

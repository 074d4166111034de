"""The file of a backup: a tar with a dump of pg_dump and a manifest.

Without Homing, `tar --extract --file=FILE database.dump` gives a dump for pg_restore.
"""

import fcntl
import hashlib
import io
import os
import stat
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from newsletter_site.backup import BackupRefusedError
from newsletter_site.backup.manifest import Manifest

DUMP, MANIFEST = "database.dump", "manifest.json"
BLOCK = tarfile.BLOCKSIZE
CHUNK = 1 << 20

Report = Callable[[int], None]


class ChecksumError(Exception):
    """The bytes of a dump are not those that its manifest describes."""


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A complete backup. Its dump has `manifest.bytes` bytes from `offset` on."""

    path: Path
    manifest: Manifest
    offset: int

    def chunks(self, report: Report | None = None) -> Iterator[bytes]:
        """Yield the dump, then raise ChecksumError if it is another one.

        `report`, if any, gets the number of bytes read so far.
        """
        left, digest = self.manifest.bytes, hashlib.sha256()
        with self.path.open("rb") as file:
            file.seek(self.offset)
            while left and (chunk := file.read(min(CHUNK, left))):
                left -= len(chunk)
                digest.update(chunk)
                yield chunk
                if report is not None:
                    report(self.manifest.bytes - left)
        if digest.hexdigest() != self.manifest.sha256:
            raise ChecksumError


@contextmanager
def new_file(path: Path, *, replaces: bool) -> Iterator[BinaryIO]:
    """Create `path`, readable only by its owner, when the block has ended.

    Until then the file has another name, and a failed block removes it. A killed one leaves it; the
    next run overwrites it. A link remains, and its target is written. Raise BackupRefusedError if
    the file cannot be written.
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
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise BackupRefusedError(
            _("{path} is not a regular file. Name another file.").format(path=path)
        )
    if not replaces:
        raise BackupRefusedError(
            _("{path} exists. Name another file, or overwrite it with --force.").format(path=path)
        )


def _create(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _lock(file: BinaryIO, unfinished: Path) -> None:
    """Keep other runs out. One that has just finished has renamed the file."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file.fileno()), unfinished.stat()):
            return
    raise BackupRefusedError(
        _("Another backup is writing {path}. Wait until it has ended.").format(path=unfinished)
    )


def _sync(folder: Path) -> None:
    """Let the new name survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_backup(
    file: BinaryIO, manifest: Manifest, dump: Iterator[bytes], report: Report
) -> Manifest:
    """Write a backup and return the full manifest.

    `report` gets the number of bytes written so far. The size of the dump is known only at its
    end, so its header is written last.
    """
    digest, size = hashlib.sha256(), 0
    file.seek(BLOCK)
    for chunk in dump:
        file.write(chunk)
        digest.update(chunk)
        size += len(chunk)
        report(size)
    file.write(bytes(-size % BLOCK))
    manifest = replace(manifest, bytes=size, sha256=digest.hexdigest())
    text = manifest.as_json().encode()
    file.write(_header(MANIFEST, len(text)))
    file.write(text + bytes(-len(text) % BLOCK) + bytes(2 * BLOCK))
    file.seek(0)
    file.write(_header(DUMP, size))
    return manifest


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, int(time.time())
    return info.tobuf(tarfile.GNU_FORMAT)


def read_backup(path: Path, report: Report) -> BackupFile:
    """Read a backup and compare its checksum, or raise BackupRefusedError."""
    not_complete = _("{path} is not a complete backup ({why}). Use another one.")
    try:
        with path.open("rb") as file:
            if file.read(5) == b"PGDMP":
                raise BackupRefusedError(
                    _(
                        "{path} is a dump of pg_dump, not a file of ./homing backup. Restore it "
                        "with pg_restore, as docs/restore.md describes for Compose."
                    ).format(path=path)
                )
            file.seek(0)
            with tarfile.open(fileobj=file, mode="r:") as tar:
                if sorted(tar.getnames()) != [DUMP, MANIFEST]:
                    raise ValueError("other files in it")
                dump, about = tar.getmember(DUMP), tar.getmember(MANIFEST)
                text = tar.extractfile(about) or io.BytesIO()
                manifest = Manifest.from_json(text.read().decode())
                if manifest.bytes != dump.size:
                    raise ValueError("another size")
        backup = BackupFile(path, manifest, dump.offset_data)
        for _chunk in backup.chunks(report):
            pass
    except ChecksumError:
        why = _("its checksum differs")
        raise BackupRefusedError(not_complete.format(path=path, why=why)) from None
    except OSError as error:
        raise BackupRefusedError(
            _("{path} cannot be read: {error}.").format(path=path, error=error.strerror or error)
        ) from error
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        found = " ".join(str(error).strip("'\"").split())
        raise BackupRefusedError(not_complete.format(path=path, why=found)) from error
    return backup

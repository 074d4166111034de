"""Lists of calls whose requests are incomplete, in a file for each worker process.

The process holds a lock on its file. The kernel releases the lock when the process has ended,
however it ended. Another process that gets the lock knows that nothing more of the listed requests
will be written. The provider cannot accept an incomplete request, so these calls were not sent.

A file is trusted only until the machine restarts, because a crash of the machine may leave older
content. If this process cannot write a file or read the boot id, batches are recovered only when
their leases expire. The worker reports this as a problem.
"""

import contextlib
import errno
import fcntl
import logging
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import connection

from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_HEADER_BYTES = 64
# A slot holds an attempt, and a byte that says whether the attempt is listed. A slot lies within
# one page, so no write is partial.
_SLOT_BYTES, _ATTEMPT_BYTES = 32, 16
_LISTED, _NOT_LISTED = b"\1", b"\0"


class BootIdHiddenError(OSError):
    """The boot id cannot be read, because the system hides a part of `/proc`."""


class UnsentCall:
    """The entry of one thread: its call, until the last piece of the request is sent."""

    def __init__(
        self,
        file: int | None = None,
        offset: int = 0,
        report: Callable[[OSError | None], None] = lambda _: None,
    ) -> None:
        """Without a `file`, no call is listed.

        `report` is called with the error of a write, or with None after a success.
        """
        self._file = file
        self._offset = offset
        self._report = report
        self._is_listed = False

    def add(self, attempt: UUID) -> None:
        """List an attempt before its commit. If the write fails, nothing is listed."""
        if self._file is not None:
            try:
                os.pwrite(self._file, attempt.bytes + _LISTED, self._offset)
            except OSError as error:
                self._report(error)
            else:
                self._is_listed = True
                self._report(None)

    def remove(self) -> None:
        """Remove the attempt, before the last piece of its request is written.

        If this method raises an error, the caller must not write the last piece.
        """
        if self._is_listed and self._file is not None:
            os.pwrite(self._file, _NOT_LISTED, self._offset + _ATTEMPT_BYTES)
            self._is_listed = False


class UnsentCalls:
    """The list of this process, or no list if its file cannot be written.

    `problem` says why calls are not listed. Open the list after the last fork, because a child
    process would share the lock on the list.
    """

    def __init__(self, worker: UUID) -> None:
        self._worker = worker
        self._file: int | None = None
        self.problem: Reason | None = None
        try:
            self._path = _folder() / f"{_database()}{worker.hex}"
            self._file = self._create()
        except OSError as error:
            self._note(error)

    def _create(self) -> int:
        # Other processes must not find the file before it is locked.
        hidden = self._path.with_name(f".{self._path.name}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(hidden, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(file, _header(), 0)
            hidden.rename(self._path)
        except OSError:
            hidden.unlink(missing_ok=True)
            os.close(file)
            raise
        return file

    def _note(self, error: OSError | None) -> None:
        """Remember why calls cannot be listed; None if they can.

        Log each new problem.
        """
        problem = None if error is None else _problem_of(error)
        if problem not in (None, self.problem):
            logger.warning("unsent calls are not listed, so batches wait for leases: %s", error)
        self.problem = problem

    def entry(self, number: int) -> UnsentCall:
        """Return the entry of one thread."""
        return UnsentCall(self._file, _HEADER_BYTES + number * _SLOT_BYTES, self._note)

    def close(self) -> None:
        """Delete the file and release the lock.

        Call this method only when every call has ended.
        """
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None


@dataclass(frozen=True, slots=True)
class DeadWorker:
    """A worker whose process has ended, and its calls that were certainly not sent."""

    id: UUID
    unsent: frozenset[UUID]
    path: Path

    def forget(self) -> None:
        """Delete the worker's file, because nothing is left to recover."""
        self.path.unlink(missing_ok=True)


def find_dead_workers() -> Iterator[DeadWorker]:
    """Find the workers of this machine and database whose processes have ended."""
    try:
        paths = sorted(_folder().iterdir())
    except OSError:
        return
    for path in paths:
        if path.name.startswith("."):
            continue
        with contextlib.suppress(OSError), path.open("rb+", buffering=0) as file:
            # Getting this lock fails while the worker's process is alive.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = file.read()
            if content[:_HEADER_BYTES] != _header():
                path.unlink()
            elif path.name.startswith(_database()):
                worker = UUID(hex=path.name.removeprefix(_database()))
                yield DeadWorker(worker, _listed_in(content), path)


def _listed_in(content: bytes) -> frozenset[UUID]:
    slots = (
        content[offset : offset + _SLOT_BYTES]
        for offset in range(_HEADER_BYTES, len(content), _SLOT_BYTES)
    )
    return frozenset(
        UUID(bytes=slot[:_ATTEMPT_BYTES])
        for slot in slots
        if slot[_ATTEMPT_BYTES : _ATTEMPT_BYTES + 1] == _LISTED
    )


def _problem_of(error: OSError) -> Reason:
    if isinstance(error, BootIdHiddenError):
        return Reason.of(ReasonCode.BOOT_ID_HIDDEN)
    # The reason does not name the path, because health checks show the reason to everybody.
    return Reason.of(ReasonCode.UNSENT_CALLS_NOT_LISTED, error=os.strerror(error.errno or 0))


def _header() -> bytes:
    try:
        boot_id = _BOOT.read_text().strip()
    except OSError as error:
        raise BootIdHiddenError(str(error)) from error
    return f"homing unsent calls 1 {boot_id}".encode().ljust(_HEADER_BYTES)


def _database() -> str:
    """Return the prefix of the file names for this database."""
    parameters = connection.get_connection_params()
    names = ("service", "host", "hostaddr", "port", "dbname")
    name = repr([parameters.get(one) for one in names])
    return f"{zlib.crc32(name.encode()):08x}-"


def _folder() -> Path:
    """Return this user's folder. No other user may write to this folder."""
    folder: Path = settings.HOMING_DATA_DIR / f"calls-{os.geteuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(errno.EPERM, "not a private folder", str(folder))
    return folder
